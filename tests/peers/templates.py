"""templates.py BUILD [--seeds N] [--count N]: random templates, rendered by BUILD/tests/jinja-test and by Jinja2 set up as
transformers has it (needs jinja2). Prints each that both render, to other texts, and how many were the same, refused by both,
by one, or not supported. Python's prints of generators, views of dicts and Markup do not count: templates of chats print none."""
import argparse, collections, json, pathlib, random, re, signal, subprocess, tempfile

import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

VARIABLES = {
    "s": "Hello  World", "t": " a,b,,c \n", "e": "", "u": "ünï <b>&'\"x\" 🙂ß", "d": "42", "x": "3.5e1", "n": 7, "m": -3, "z": 0,
    "big": 12345678901234, "f": 2.5, "g": -0.1, "yes": True, "no": False, "nil": None, "l": [3, 1, 2], "ls": ["b", "A", "c", "a"],
    "lm": [1, "a", None, 2.5], "le": [], "ll": [[1, 2], [3]], "k": {"b": 1, "a": 2}, "ke": {}, "kk": {"x": {"y": [1, {"z": "w"}]}},
    "msgs": [{"role": "user", "content": "hi\n"}, {"role": "assistant", "content": None, "calls": [{"q": 1.0, "r": [True, None]}]}]}
LITERALS = "1|0|-2|10|2.5|1e3|0.1|'a'|'l'|''|' '|','|'%s'|true|false|none|[]|[1, 2]|['x', 'y']|{}|{'a': 1}|('a',)|'\\n'|'ß'".split("|")
FILTERS = """sort;sort(reverse=true);sort(case_sensitive=true);dictsort;dictsort(by='value');unique;min;max;sum;map('upper');select;
map(attribute='role');map(attribute='content', default='?');select('string');reject('none');selectattr('content');items;
selectattr('role', 'equalto', 'user');rejectattr('role', 'in', ['user']);join;join(', ');join('-', attribute='role');tojson;trim;
tojson(indent=2);indent;indent(2, true);escape;int;int(5);int(base=16);float;float(1.5);round;round(1);round(0, 'floor');length;
replace('l', 'L');default('D');default('D', true);upper;lower;title;capitalize;first;last;list;string;abs"""
TESTS = """defined;none;string;number;mapping;iterable;sequence;boolean;true;false;integer;float;odd;even;divisibleby 2;equalto(1);
ne(2);in([1, 'a', none]);gt(1);callable"""
ENDS = """.strip();.rstrip();.strip('a ');.split();.split(',');.split(',', 1);.rsplit(',', 1);.splitlines();.startswith('H');.find('o');
.endswith('d');.startswith(('a', 'H'));.replace('l', 'x');.replace('', '-');.count('l');.upper();.title();.capitalize();.isdigit();
.isalpha();.join(ls);.removeprefix('He');.items();.keys();.get('a');.get('q', 5);.a;.x.y;['a'];[0];[-1];[9];[0].role;[1:];[:2];
[::-1];[1:-1];[::2];[-2:];[n];.missing"""
INNER = """{{ loop.index }};{{ loop.last }};{{ loop.length }};{{ loop.revindex0 }};{{ loop.previtem }};{{ loop.cycle('x', 'y') }};{{ i }},;
{{ loop.changed(i) }};{{ loop.depth }};{% if loop.index > 1 %}{% break %}{% endif %}"""
BINARY = "+ - * / // % ** ~ ~ == != < <= > >= in and or".split() + ["not in"]


def expression(pick, depth):
    part = lambda: expression(pick, depth - 1)
    one = lambda words: pick(words.replace("\n", "").split(";"))
    return pick([
        lambda: pick([*VARIABLES, pick(LITERALS)]), lambda: pick([*VARIABLES]) + one(ENDS), lambda: f"({part()}) | {one(FILTERS)}",
        lambda: f"({part()}) is {pick(['', 'not '])}{one(TESTS)}", lambda: f"({part()}){one(ENDS)}", lambda: f"[{part()}, {part()}]",
        lambda: f"{part()} {pick(BINARY)} {part()}", lambda: f"{pick(['not ', '-', '+'])}{part()}",
        lambda: f"({part()} if {part()} else {part()})", lambda: f"{{'k': {part()}}}"][: 10 if depth else 1])()


def statement(pick, depth):
    inside = lambda: pick(["", " ", "\n", "  b\n"]) + statement(pick, depth - 1) + pick(["", "\n", "\t"])
    tag = lambda words: "{%" + pick(["", "-"]) + f" {words} " + pick(["", "-"]) + "%}"
    some = lambda: expression(pick, 2)
    return pick([
        lambda: "{{" + pick(["", "-"]) + f" {some()} " + pick(["", "-"]) + "}}",
        lambda: tag(f"if {some()}") + inside() + tag("else") + inside() + tag("endif"),
        lambda: tag(f"for i in {pick(['l', 'msgs', 'lm', 'k', 's', some()])}") + pick(INNER.replace("\n", "").split(";")) + inside() + tag("endfor"),
        lambda: tag(f"set {pick(['v', 'n', 's'])} = {some()}") + "{{ v }}", lambda: tag("set v") + inside() + tag("endset") + "{{ v }}",
        lambda: tag("macro mm(a, b=2)") + "{{ a }}:{{ b }}" + inside() + tag("endmacro") + "{{ mm(" + pick(["1", "a=3", "s, b=n"]) + ") }}"][: 6 if depth else 1])()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--count", type=int, default=10000)
    options = parser.parse_args()
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])
    environment.filters["tojson"] = lambda x, indent=None: json.dumps(x, ensure_ascii=False, indent=indent)
    signal.signal(signal.SIGALRM, lambda *_: 1 / 0)  # one that Python takes long for counts as refused
    counts = collections.Counter()
    for seed in range(options.seeds):
        pick = random.Random(seed).choice
        templates = ["{{ " + expression(pick, 3) + " }}" if i % 2 else statement(pick, 2) for i in range(options.count)]
        with tempfile.NamedTemporaryFile("w") as given:
            json.dump({"variables": VARIABLES, "templates": templates}, given)
            given.flush()
            subprocess.run([options.build / "tests/jinja-test", "[templates]"], check=True, stdout=subprocess.DEVNULL,
                           env={"HEADROOM_TEMPLATES": given.name})
            ours = json.loads(pathlib.Path(given.name).read_text())
        for source, [is_rendered, text] in zip(templates, ours):
            signal.alarm(2)
            try:
                theirs = environment.from_string(source).render(**json.loads(json.dumps(VARIABLES)))
            except Exception:
                theirs = None
            signal.alarm(0)
            if theirs is not None and re.search(r"(?i)generator object|dict_|markup\(|object at 0x|<(built|bound)", theirs):
                kind = "not compared"
            elif is_rendered:
                kind = "refused by Jinja2" if theirs is None else "same" if theirs == text else "OTHER TEXTS"
            else:
                kind = "refused by both" if theirs is None else "refused here"
            counts[kind] += 1
            if kind == "OTHER TEXTS":
                print(json.dumps(source, ensure_ascii=False), f"\n  Jinja2   {theirs!r}\n  headroom {text!r}")
    print(dict(counts))
    return counts["OTHER TEXTS"] > 0


if __name__ == "__main__":
    raise SystemExit(main())
