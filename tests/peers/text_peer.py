"""How texts become tokens, beside transformers and llama.cpp: random small models of every family, with and without each
of the files and keys that may say how a text begins. PROGRAM [--seed N] [--rounds K]; README.md in this folder."""
import argparse, io, json, math, pathlib, random, shutil, subprocess, sys, tempfile, urllib.request

import gguf, sentencepiece, torch, transformers, xllamacpp
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers, AddedToken

transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
HARD = ["The boats came in.", "I'M sure they'LL go, we've 12345 of 6,789.00 it's", "  two  spaces\tand\ttabs   ", "a\r\nb\n\n\nc \n d",
        "中文字符 かな カナ 한국어 mixed中文text", "naïve café ÉCOLE Ünï", "٣٤٥ १२३ ૧૨", "🙂👩‍👩‍👧 emoji🎉!!", "x̂ combining q̃ नमस्ते",
        "foo_bar(baz); // <b>&amp;</b> $a+=1", "...!!!???---", "\u00a0nbsp\u2003em\u3000ideographic", "A", "don't DON'T Don'T"]
CORPUS = [" ".join(random.Random(0).choices("the boats came in from sea and nets were hung to dry 12 345 it's we'll go".split(), k=400))] + HARD
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = QWEN.replace(r"\p{N}|", r"\p{N}{1,3}|")
BEGIN, END = "<|begin|>", "<|end|>"


def split(*patterns):
    steps = [pre_tokenizers.Split(Regex(p), "isolated") for p in patterns]
    return pre_tokenizers.Sequence(steps + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


FAMILIES = {  # model class, tokenizer class, how its tokenizer cuts, tokenizer.ggml.pre
    "llama": ("Llama", "PreTrainedTokenizerFast", lambda: split(LLAMA3)),
    "llama2": ("Llama", "LlamaTokenizerFast", None),
    "mistral": ("Mistral", "LlamaTokenizerFast", None),
    "qwen2": ("Qwen2", "Qwen2Tokenizer", lambda: split(QWEN)),
    "qwen3": ("Qwen3", "Qwen2Tokenizer", lambda: split(QWEN)),
    "gemma3_text": ("Gemma3", "GemmaTokenizer", None),
    "gpt2": ("GPT2", "GPT2Tokenizer", lambda: pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "smollm": ("Llama", "GPT2Tokenizer", lambda: pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)])),
}


def tokenizer_of(family, rng):
    cut = FAMILIES[family][2]
    if cut:
        own = Tokenizer(models.BPE(ignore_merges=family == "llama"))
        own.pre_tokenizer, own.decoder = cut(), decoders.ByteLevel()
        if family.startswith("qwen"): own.normalizer = normalizers.NFC()
        own.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=rng.randint(270, 330), show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        names = ["<|endoftext|>"] if family == "gpt2" else ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] if family.startswith("qwen") else [BEGIN, END]
        own.add_special_tokens(names)
        return own, (names[0], names[-1]), None
    is_gemma, written = family == "gemma3_text", io.BytesIO()
    special = dict(pad_id=0, eos_id=1, bos_id=2, unk_id=3, pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>") if is_gemma else {}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS[0].split(" in ")), model_writer=written, model_type="bpe", vocab_size=rng.randint(300, 335), byte_fallback=True,
        normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=not is_gemma, minloglevel=2, **special)
    model = sentencepiece_model_pb2.ModelProto.FromString(written.getvalue())
    vocab = {piece.piece: i for i, piece in enumerate(model.pieces)}
    normal = {piece.piece: piece.score for piece in model.pieces if piece.type == piece.NORMAL}
    merges = [(-normal[whole], whole[:at], whole[at:]) for whole in normal for at in range(1, len(whole)) if whole[:at] in normal and whole[at:] in normal]
    own = Tokenizer(models.BPE(vocab=vocab, merges=[tuple(m[1:]) for m in sorted(merges)], byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    spaces = normalizers.Replace(" ", "▁")
    own.normalizer = spaces if is_gemma else normalizers.Sequence([normalizers.Prepend("▁"), spaces])
    own.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()] + ([] if is_gemma else [decoders.Strip(" ", 1, 0)]))
    own.add_special_tokens([piece.piece for piece in model.pieces if piece.type in (piece.CONTROL, piece.UNKNOWN)])
    return own, ("<bos>", "<eos>") if is_gemma else ("<s>", "</s>"), written.getvalue()


def model_of(family, vocab, bos, eos, folder, seed):
    kind = FAMILIES[family][0]
    torch.manual_seed(seed)
    common = dict(vocab_size=vocab, bos_token_id=bos, eos_token_id=eos, pad_token_id=None)
    if kind == "GPT2": config = transformers.GPT2Config(n_embd=32, n_layer=2, n_head=2, n_positions=128, **common)
    else:
        config = getattr(transformers, kind + ("TextConfig" if kind == "Gemma3" else "Config"))(
            hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
            max_position_embeddings=128, initializer_range=0.3, **({"query_pre_attn_scalar": 8} if kind == "Gemma3" else {}), **common)
    model = transformers.AutoModelForCausalLM.from_config(config).float().eval()
    model.save_pretrained(folder)
    return model


def put(path, value): path.write_text(json.dumps(value, ensure_ascii=False))


def vary(folder, family, own, names, pieces, rng):
    """Draws what says how a text begins; returns what was drawn."""
    bos, eos = names
    ids = own.token_to_id(bos), own.token_to_id(eos)
    drawn = {"template": rng.choice(["bos", "bos", "none", "both"]), "config": rng.choice(["right", "absent", "null", "other"]),
             "add": rng.choice([None, True, False]), "class": rng.choice(["own", "own", "absent", "fast"]), "slow": False,
             "legacy": None, "file": rng.choice(["tokenizer_config", "tokenizer_config", "special_tokens_map", "absent"])}
    if family not in ("llama", "smollm"): drawn["slow"] = rng.random() < 0.5
    if pieces: drawn["legacy"] = rng.choice([None, True, False])
    config = json.loads((folder / "config.json").read_text())
    config.pop("bos_token_id", None)
    if drawn["config"] != "absent": config["bos_token_id"] = {"right": ids[0], "null": None, "other": 1}[drawn["config"]]
    put(folder / "config.json", config)
    said = {"bos_token": bos, "eos_token": eos}
    if family.startswith("qwen"): said["bos_token"] = None
    if drawn["class"] != "absent": said["tokenizer_class"] = FAMILIES[family][1] if drawn["class"] == "own" or drawn["slow"] or family == "gemma3_text" else "PreTrainedTokenizerFast"
    if drawn["add"] is not None: said["add_bos_token"] = drawn["add"]
    if drawn["legacy"] is not None: said["legacy"] = drawn["legacy"]
    text = json.loads(own.to_str())
    if drawn["slow"] and pieces: (folder / "tokenizer.model").write_bytes(pieces)
    elif drawn["slow"]:
        said["added_tokens_decoder"] = {str(t["id"]): {k: t[k] for k in t if k != "id"} for t in text["added_tokens"]}
        put(folder / "vocab.json", text["model"]["vocab"])
        (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(" ".join(m) + "\n" for m in text["model"]["merges"]))
    else:
        if drawn["template"] != "none":
            both = drawn["template"] == "both"
            own.post_processor = processors.TemplateProcessing(single=f"{bos} $A" + (f" {eos}" if both else ""), special_tokens=[(bos, ids[0])] + ([(eos, ids[1])] if both and eos != bos else []))
        own.save(str(folder / "tokenizer.json"))
    if drawn["file"] == "special_tokens_map":
        put(folder / "special_tokens_map.json", {k: said.pop(k) for k in ("bos_token", "eos_token")})
        if "added_tokens_decoder" in said: put(folder / "added_tokens.json", {t["content"]: int(i) for i, t in said.pop("added_tokens_decoder").items()})
    if drawn["file"] != "absent": put(folder / "tokenizer_config.json", said)
    return drawn


class Counts:
    def __init__(self): self.right = self.wrong = 0; self.worst = 0.0
    def check(self, holds, *what):
        self.right += holds; self.wrong += not holds
        if not holds: print("DIFFERS", *what, flush=True)


class LlamaCpp:
    def __init__(self, path):
        p = xllamacpp.CommonParams()
        p.model.path, p.n_ctx, p.n_parallel, p.fit_params, p.warmup, p.port, p.cpuparams.n_threads = str(path), 128, 1, False, False, 0, 1
        p.cache_type_k = p.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        p.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        self.server = xllamacpp.Server(p)
    def post(self, path, **body):
        request = urllib.request.Request(self.server.listening_address + path, data=json.dumps(body).encode(), headers={"Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(request, timeout=60))
    def ids(self, text, add=True, parse=True): return self.post("/tokenize", content=text, add_special=add, parse_special=parse)["tokens"]
    def losses(self, ids, first, vocab, letter):
        """Of the tokens from `first` on, each by the tokens before it. A letter is answered: bytes would come without probabilities."""
        out = []
        for at in range(first, len(ids)):
            answer = self.post("/completion", prompt=ids[:at], n_predict=1, n_probs=vocab, temperature=0.0, cache_prompt=False, logit_bias=[[letter, 1000]])
            out += [-t["logprob"] for t in answer["completion_probabilities"][0]["top_logprobs"] if t["id"] == ids[at]]
        return out


def ours(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 and "--json" in words else done.stderr.strip()


def losses(model, ids):
    with torch.no_grad(): rows = model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    return [-float(rows[i - 1, ids[i]]) for i in range(1, len(ids))]  # of token i at [i - 1]


def reference(model, protocol, ids, begin, n, stride):
    """Nats by the protocol's own rules; `ids` without what begins a text."""
    out, behind = [], [begin] * (begin is not None) + ids
    if protocol == "llamacpp":
        for k in range(len(behind) // n):
            chunk = behind[k * n:(k + 1) * n]
            if begin is not None: chunk[0] = begin
            out += losses(model, chunk)[n // 2:n - 1]
    elif protocol == "hf-strided":
        last = 0
        for at in range(0, len(behind), stride):
            end = min(at + n, len(behind)); window = behind[at:end]
            out += losses(model, window)[max(0, len(window) - (end - last) - 1):]
            last = end
            if end == len(behind): break
    else:
        own = n - (begin is not None)
        for k in range(len(ids) // own): out += losses(model, [begin] * (begin is not None) + ids[k * own:(k + 1) * own])
    return sum(out) / len(out)


def rewritten(source, target, changes, rng):
    """The GGUF file with keys left out or changed."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture" or changes.get(key, 0) is None: continue
        kind, value = field.types[0], changes.get(key, field.contents())
        if key == "tokenizer.ggml.token_type" and "user defined" in changes: value[changes["user defined"]] = gguf.TokenType.USER_DEFINED
        writer.add_key_value(key, value, kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    for tensor in reader.tensors: writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file(); writer.write_kv_data_to_file(); writer.write_tensors_to_file(); writer.close()


def main():
    words = argparse.ArgumentParser()
    words.add_argument("program"); words.add_argument("--seed", type=int, default=1); words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--families", default=",".join(FAMILIES))
    a = words.parse_args()
    counts = {k: Counts() for k in ("folders", "gguf", "disjoint", "hf-strided", "llamacpp", "llama.cpp")}
    for family in a.families.split(","):
        for turn in range(a.rounds):
            rng = random.Random(f"{a.seed} {family} {turn}")
            with tempfile.TemporaryDirectory() as root:
                root = pathlib.Path(root); folder = root / "m"
                own, names, pieces = tokenizer_of(family, rng)
                ids = own.token_to_id(names[0]), own.token_to_id(names[1])
                model = model_of(family, own.get_vocab_size(), *ids, folder, rng.randint(0, 1 << 30))
                drawn = vary(folder, family, own, names, pieces, rng)
                theirs = transformers.AutoTokenizer.from_pretrained(folder)
                texts = HARD + [f"x{names[1]}y {names[0]} z{names[1]} {names[1]}", f"{names[1]} The"]
                for text in texts:
                    wanted = theirs(text).input_ids
                    got = ours(a.program, "logits", folder, "--prompt", text, "--top", 1, "--json")
                    got = [t["token"] for t in got] if isinstance(got, list) else got
                    counts["folders"].check(got == wanted, family, drawn, repr(text), got, wanted)
                text = "\n".join(rng.sample(HARD, len(HARD)) * 3) + CORPUS[0]
                (root / "t.txt").write_bytes(text.encode())  # with its own line ends
                plain, whole = theirs(text, add_special_tokens=False).input_ids, theirs(text).input_ids
                begin = whole[0] if len(whole) > len(plain) else None
                n, stride = rng.choice([(32, 16), (48, 48), (64, 17)])
                for protocol in ("disjoint", "hf-strided", "llamacpp"):
                    more = ["--stride", stride] if protocol == "hf-strided" else []
                    got = ours(a.program, "eval", folder, "--text", root / "t.txt", "--protocol", protocol, "--context", n, *more, "--exact", "--json")
                    wanted = math.exp(reference(model, protocol, plain, begin, n, stride))
                    off = abs(got["ppl"] / wanted - 1) if isinstance(got, dict) else math.inf
                    counts[protocol].worst = max(counts[protocol].worst, off)
                    counts[protocol].check(off <= 1e-4, family, drawn, protocol, off, got)
                made = ours(a.program, "convert", folder, "-o", root / "m.gguf", "--dtype", "f32")
                if not (root / "m.gguf").exists(): counts["gguf"].check(False, family, drawn, "convert", made); continue
                byte_level = FAMILIES[family][2] is not None
                changes = {"tokenizer.ggml.add_bos_token": rng.choice([None, True, False])}
                if byte_level: changes["tokenizer.ggml.pre"] = rng.choice([None, "default", *PRES] if family == "llama" else ["gpt-2", "smollm", "llama-bpe", "llama3", "qwen2"])
                if rng.random() < 0.3: changes["tokenizer.ggml.bos_token_id"] = rng.choice([None, 1 << 20])
                if byte_level and rng.random() < 0.3: changes["user defined"] = ids[1]
                rewritten(root / "m.gguf", root / "v.gguf", changes, rng)
                try: server = LlamaCpp(root / "v.gguf")
                except Exception as error: print("llama.cpp refuses", family, changes, str(error)[:100]); continue
                plain, whole = server.ids(text, add=False, parse=False), server.ids(text, parse=False)
                begin = whole[0] if len(whole) > len(plain) and whole[0] != plain[0] else None
                got = ours(a.program, "eval", root / "v.gguf", "--text", root / "t.txt", "--protocol", "llamacpp", "--context", 32, "--max-tokens", 128, "--exact", "--json")
                tokens, nats = [begin] * (begin is not None) + plain, []
                for chunk in (tokens[at:at + 32] for at in range(0, 128, 32)):
                    if begin is not None: chunk[0] = begin
                    nats += server.losses(chunk, 17, own.get_vocab_size(), own.token_to_id("e"))
                off = abs(got["ppl"] / math.exp(sum(nats) / len(nats)) - 1) if isinstance(got, dict) else math.inf
                counts["llama.cpp"].worst = max(counts["llama.cpp"].worst, off)
                counts["llama.cpp"].check(off <= 1e-4, family, changes, off, got)
                for text in texts:
                    wanted = server.ids(text)
                    got = ours(a.program, "logits", root / "v.gguf", "--prompt", text, "--top", 1, "--json")
                    got = [t["token"] for t in got] if isinstance(got, list) else got
                    counts["gguf"].check(got == wanted, family, changes, repr(text), got, wanted)
    for name, count in counts.items():
        print(f"{name:<11} {count.right} equal, {count.wrong} not" + (f", at most {count.worst:.1e} of perplexity" if count.worst else ""))
    return 1 if any(c.wrong for c in counts.values()) else 0


PRES = ["llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "smaug-bpe", "dbrx", "qwen2", "deepseek-r1-qwen", "megrez", "tekken", "gpt-4o",
        "deepseek-llm", "deepseek-coder", "deepseek-v3", "falcon", "viking", "bloom", "seed-coder", "command-r", "starcoder", "gpt-2", "smollm",
        "stablelm2", "minicpm5", "poro-chat", "exaone"]
if __name__ == "__main__": sys.exit(main())
