// Tags, notes and the deletion of a run.
import { make, set_text, run_url, change, may_change } from "./dom.js";

export function annotations(run) {
  const url = (what) => `${run_url(run, "api/run")}/${what}`;
  const problem = make("p", { class: "problem", role: "alert", hidden: true });
  const attempt = async (task) => {
    problem.hidden = true;
    try {
      return await task();
    } catch (error) {
      problem.hidden = false;
      set_text(problem, error.message);
      return null;
    }
  };
  const tags = make("span", { class: "tags" }), notes = make("ol", { class: "notes" });
  const tag = make("input", { "aria-label": "A new tag", placeholder: "tag", maxlength: 60, size: 12, required: true });
  const note = make("textarea", { "aria-label": "A new note", placeholder: "note", rows: 3, maxlength: 4000, required: true });
  const add_tag = make("form", { class: "tools", onsubmit: async (event) => {
    event.preventDefault();
    if (await attempt(() => change(url("tag"), { add: tag.value.trim() }))) tag.value = "";
  } }, tag, make("button", { text: "Add tag" }));
  const add_note = make("form", { onsubmit: async (event) => {
    event.preventDefault();
    if (await attempt(() => change(url("note"), { add: note.value }))) note.value = "";
  } }, note, make("button", { text: "Add note" }));

  const words = make("p"), dialog_problem = make("p", { class: "problem", role: "alert" });
  const confirm = make("button", { type: "button", class: "danger", text: "Delete", onclick: async () => {
    confirm.disabled = true;
    try {
      await change(url("delete"), { run: `${run.study}/${run.profile}` });
      location.href = "/";
    } catch (error) {
      set_text(dialog_problem, error.message);
      confirm.disabled = false;
    }
  } });
  const dialog = make("dialog", { "aria-label": "Delete this run?" }, make("h2", { text: "Delete this run?" }), words, dialog_problem,
    make("div", { class: "tools" }, make("button", { type: "button", autofocus: true, text: "Keep it", onclick: () => dialog.close() }), confirm));
  const remove = make("button", { type: "button", class: "danger", text: "Delete this run…", onclick: () => {
    set_text(dialog_problem, "");
    dialog.showModal();
  } });

  const node = make("section", {}, make("h2", { text: "Notes and tags" }), tags, may_change && add_tag, notes, may_change && add_note, problem,
    may_change && make("p", { class: "end" }, remove), dialog);
  return {
    node,
    update(state) {
      const seen = JSON.stringify([state.tags, state.notes]);
      remove.disabled = state.running > 0;
      remove.title = state.running > 0 ? "a process is training it" : "";
      set_text(words, `${run.study} · ${run.profile}: ${state.finished} finished trials, ${state.size}, in ${state.folder}. Store, reports, notes and kept weights go; this cannot be undone.`);
      if (node.dataset.seen === seen) return;
      node.dataset.seen = seen;
      tags.replaceChildren(...state.tags.map((name) => make("span", { class: "tag" }, name,
        may_change && make("button", { type: "button", class: "quiet", "aria-label": `remove the tag ${name}`, text: "×", onclick: () => attempt(() => change(url("tag"), { remove: name })) }))));
      notes.replaceChildren(...state.notes.map((one) => make("li", {}, make("span", { class: "muted", text: `${one.at} UTC ` }), make("span", { class: "text", text: one.text }),
        may_change && make("button", { type: "button", class: "quiet", "aria-label": `remove the note of ${one.at}`, text: "×", onclick: () => attempt(() => change(url("note"), { remove: one.id })) }))));
    },
  };
}
