#!/usr/bin/env python3
"""Networks of torchvision, timm and transformers, and a recommender, as PyTorch exports them: what most ONNX files that
people have are.

Builds each with random weights, small ones of transformers' language models, exports it, lets ONNX Runtime compute its
outputs from random input, and writes folders as `cohort verify` reads them: model.onnx beside test_data_set_0. What
exists already is left as it is; what PyTorch cannot export or ONNX Runtime cannot run is said, and left out.

  bench/peers/torch_exports.py                       all of them, into build/exports
  bench/peers/torch_exports.py bert swin             those with one of these words in their name
  bench/peers/torch_exports.py --exporter torchscript
  cohort verify build/exports
  bench/peers/side_by_side.py build/exports/bert/model.onnx

Needs torch, torchvision, timm, transformers, onnx, onnxscript and onnxruntime (PyPI), best in a virtual environment; without
them it says so and ends with 77, which test runners read as skipped.
"""

import argparse
import contextlib
import io
import logging
import os
import pathlib
import shutil
import sys
import warnings

try:
    import onnx
    import onnxruntime
    import onnxscript  # noqa: F401, which PyTorch's exporter needs
    import timm
    import torch
    import torchvision.models
    import transformers
except ImportError as error:
    print(f"skipped: {error}; pip install torch torchvision timm transformers onnx onnxscript onnxruntime", file=sys.stderr)
    sys.exit(77)

from node_cases import write_data

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "build" / "exports"
OPSET = 18

TORCHVISION = ["convnext_tiny", "densenet121", "efficientnet_b0", "googlenet", "mnasnet0_5", "mobilenet_v3_small",
               "regnet_y_400mf", "shufflenet_v2_x1_0", "swin_t", "vit_b_32"]
TIMM = ["coat_lite_tiny", "convmixer_768_32", "crossvit_tiny_240", "deit3_small_patch16_224", "dla34", "edgenext_xx_small",
        "efficientformer_l1", "efficientvit_b0", "eva02_tiny_patch14_224", "fastvit_t8", "focalnet_tiny_srf", "gcvit_xxtiny",
        "ghostnet_100", "hardcorenas_a", "hrnet_w18_small", "inception_next_tiny", "lcnet_050", "levit_128s",
        "mixer_s16_224", "mobilenetv4_conv_small", "mobileone_s0", "mobilevit_xs", "nfnet_l0", "poolformer_s12",
        "pvt_v2_b0", "repvgg_a0", "res2net50_14w_8s", "resnest14d", "rexnet_100", "selecsls42b", "seresnext26d_32x4d",
        "starnet_s1", "swiftformer_xs", "tiny_vit_5m_224", "tinynet_a", "visformer_tiny", "volo_d1_224",
        "xcit_nano_12_p16_224"]


class OneOutput(torch.nn.Module):
    """A model of transformers that takes its inputs in order and gives one tensor."""

    def __init__(self, model, inputs):
        super().__init__()
        self.model, self.inputs = model, inputs

    def forward(self, *values):
        result = self.model(**dict(zip(self.inputs, values)), return_dict=True)
        return next(result[name] for name in ("logits", "logits_per_image", "last_hidden_state") if name in result)


class Segmentation(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)["out"]


class Recommender(torch.nn.Module):
    """A small DLRM: bags of entries of tables, dense features, and products of all pairs."""

    def __init__(self, tables=6, width=16):
        super().__init__()
        self.tables = torch.nn.ModuleList([torch.nn.EmbeddingBag(1000, width, mode="sum") for _ in range(tables)])
        self.bottom = torch.nn.Sequential(torch.nn.Linear(13, 64), torch.nn.ReLU(), torch.nn.Linear(64, width), torch.nn.ReLU())
        pairs = torch.triu_indices(tables + 1, tables + 1, 1)
        self.register_buffer("pairs", pairs)
        self.top = torch.nn.Sequential(torch.nn.Linear(width + pairs.shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))

    def forward(self, features, entries):
        dense = self.bottom(features)
        vectors = torch.stack([dense, *(table(entries[:, i]) for i, table in enumerate(self.tables))], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        return torch.sigmoid(self.top(torch.cat([dense, products[:, self.pairs[0], self.pairs[1]]], 1)))


def tokens(length=32):
    return {"input_ids": torch.randint(1, 900, (1, length)), "attention_mask": torch.ones(1, length, dtype=torch.int64)}


def transformer_models():
    """By name: the class of a model, its configuration, and inputs."""
    t = transformers
    usual = {"vocab_size": 1000, "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 512}
    decoder = usual | {"num_key_value_heads": 2, "use_cache": False}
    older = {"vocab_size": 1000, "hidden_size": 256, "n_layer": 4, "n_head": 4, "use_cache": False}
    sound = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256, "conv_dim": (64,) * 7}
    small_image = {"hidden_size": 192, "num_hidden_layers": 4, "num_attention_heads": 3}
    image = {"pixel_values": torch.rand(1, 3, 224, 224)}
    wave = {"input_values": torch.rand(1, 8000)}
    tower = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256}
    towers = {"text_config": tower | {"vocab_size": 1000}, "vision_config": tower | {"image_size": 64, "patch_size": 16}}
    text_and_image = tokens(16) | {"pixel_values": torch.rand(1, 3, 64, 64)}
    translated = tokens() | {"decoder_input_ids": torch.randint(1, 900, (1, 8))}
    return {
        "albert": (t.AlbertModel, t.AlbertConfig(**usual, embedding_size=64), tokens()),
        "bert": (t.BertModel, t.BertConfig(**usual), tokens()),
        "bloom": (t.BloomForCausalLM, t.BloomConfig(**older), tokens()),
        "clip": (t.CLIPModel, t.CLIPConfig(**towers), text_and_image),
        "clip_vision": (t.CLIPVisionModel, t.CLIPVisionConfig(**small_image, intermediate_size=384), image),
        "deberta": (t.DebertaV2Model, t.DebertaV2Config(**usual, relative_attention=True, pos_att_type=["c2p", "p2c"]), tokens()),
        "dinov2": (t.Dinov2Model, t.Dinov2Config(**small_image), image),
        "distilbert": (t.DistilBertModel, t.DistilBertConfig(vocab_size=1000, dim=256, n_layers=4, n_heads=4, hidden_dim=512), tokens()),
        "electra": (t.ElectraModel, t.ElectraConfig(**usual), tokens()),
        "fnet": (t.FNetModel, t.FNetConfig(vocab_size=1000, hidden_size=256, num_hidden_layers=4, intermediate_size=512), tokens()),
        "gemma": (t.GemmaForCausalLM, t.GemmaConfig(**decoder, head_dim=64), tokens()),
        "gpt2": (t.GPT2LMHeadModel, t.GPT2Config(vocab_size=1000, n_embd=256, n_layer=4, n_head=4, use_cache=False), tokens()),
        "groupvit": (t.GroupViTModel, t.GroupViTConfig(text_config=towers["text_config"]),
                     tokens(16) | {"pixel_values": torch.rand(1, 3, 224, 224)}),
        "hubert": (t.HubertModel, t.HubertConfig(**sound), wave),
        "llama": (t.LlamaForCausalLM, t.LlamaConfig(**decoder), tokens()),
        "mamba": (t.MambaModel, t.MambaConfig(vocab_size=1000, hidden_size=128, num_hidden_layers=2, use_cache=False),
                  {"input_ids": torch.randint(1, 900, (1, 16))}),
        "marian": (t.MarianModel, t.MarianConfig(vocab_size=1000, d_model=128, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=256,
                                                 decoder_ffn_dim=256, encoder_attention_heads=4, decoder_attention_heads=4,
                                                 pad_token_id=0, use_cache=False), translated),
        "mobilebert": (t.MobileBertModel, t.MobileBertConfig(vocab_size=1000, num_hidden_layers=4), tokens()),
        "modernbert": (t.ModernBertModel, t.ModernBertConfig(**usual, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                                                             cls_token_id=1, sep_token_id=2), tokens()),
        "mpnet": (t.MPNetModel, t.MPNetConfig(**usual), tokens()),
        "opt": (t.OPTForCausalLM, t.OPTConfig(vocab_size=1000, hidden_size=256, num_hidden_layers=4, num_attention_heads=4, ffn_dim=512,
                                              word_embed_proj_dim=256, use_cache=False), tokens()),
        "patch_tst": (t.PatchTSTModel, t.PatchTSTConfig(num_input_channels=4, context_length=64),
                      {"past_values": torch.rand(1, 64, 4)}),
        "phi": (t.PhiForCausalLM, t.PhiConfig(**usual, use_cache=False), tokens()),
        "qwen2": (t.Qwen2ForCausalLM, t.Qwen2Config(**decoder), tokens()),
        "roberta": (t.RobertaModel, t.RobertaConfig(**usual, max_position_embeddings=66), tokens()),
        "segformer": (t.SegformerForSemanticSegmentation, t.SegformerConfig(), image),
        "siglip": (t.SiglipModel, t.SiglipConfig(**towers), text_and_image),
        "t5_encoder": (t.T5EncoderModel, t.T5Config(vocab_size=1000, d_model=256, num_layers=4, num_heads=4, d_kv=64, d_ff=512), tokens()),
        "vit": (t.ViTModel, t.ViTConfig(**small_image, intermediate_size=384), image),
        "wav2vec2": (t.Wav2Vec2Model, t.Wav2Vec2Config(**sound), wave),
        "yolos": (t.YolosForObjectDetection, t.YolosConfig(**small_image, intermediate_size=384, image_size=[224, 224]), image),
    }


def named_models():
    """By name: what makes the model, and its inputs."""
    def of_torchvision(name):
        options = {"init_weights": False, "aux_logits": False} if name == "googlenet" else {}
        return lambda: getattr(torchvision.models, name)(weights=None, **options)

    def of_timm(name):
        return lambda: timm.create_model(name, pretrained=False)

    def size_of(name):
        return timm.create_model(name, pretrained=False).default_cfg["input_size"][-1]

    models = {"dlrm": (Recommender, lambda: {"features": torch.rand(1, 13), "entries": torch.randint(0, 1000, (1, 6, 5))})}
    models |= {name: (of_torchvision(name), lambda: {"x": torch.rand(1, 3, 224, 224)}) for name in TORCHVISION}
    for name in ("lraspp", "deeplabv3"):
        build = getattr(torchvision.models.segmentation, f"{name}_mobilenet_v3_large")
        models[name] = (lambda build=build: Segmentation(build(weights=None, weights_backbone=None)),
                        lambda: {"x": torch.rand(1, 3, 224, 224)})
    for name in TIMM:
        models[name] = (of_timm(name), lambda name=name: {"x": torch.rand(1, 3, size_of(name), size_of(name))})
    for name, (kind, config, inputs) in transformer_models().items():
        models[name] = (lambda kind=kind, config=config, inputs=inputs: OneOutput(kind(config), list(inputs)),
                        lambda inputs=inputs: inputs)
    return models


def export(model, inputs, file, dynamo):
    options = {"dynamo": True, "external_data": False, "verbose": False} if dynamo else {"dynamo": False}
    with contextlib.redirect_stdout(io.StringIO()):  # PyTorch prints graphs
        torch.onnx.export(model.eval(), tuple(inputs.values()), str(file), input_names=list(inputs),
                          opset_version=OPSET if dynamo else 17, **options)


def write_case(folder, inputs):
    """What ONNX Runtime computes, as a test case; inputs that the export dropped are not in it."""
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    feeds = {each.name: inputs[each.name].numpy() for each in session.get_inputs()}
    results = session.run(None, feeds)
    write_data(folder, feeds, dict(zip([each.name for each in session.get_outputs()], results)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--output", type=pathlib.Path, default=FOLDER)
    parser.add_argument("--exporter", choices=["dynamo", "torchscript"], default="dynamo")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    torch.manual_seed(0)
    failed = 0
    for name, (make, make_inputs) in named_models().items():
        folder = options.output / (name if options.exporter == "dynamo" else f"{name}_torchscript")
        if options.words and not any(word in folder.name for word in options.words):
            continue
        if (folder / "test_data_set_0").exists():
            continue
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            inputs = make_inputs()
            export(make(), inputs, folder / "model.onnx", options.exporter == "dynamo")
            write_case(folder, inputs)
        except Exception as error:  # PyTorch's exporter raises errors of many kinds
            shutil.rmtree(folder)
            failed += 1
            print(f"{name}: left out, {type(error).__name__}: {str(error).strip().splitlines()[0][:160]}", flush=True)
            continue
        nodes = len(onnx.load(folder / "model.onnx", load_external_data=False).graph.node)
        print(f"{folder / 'model.onnx'}: {nodes} nodes", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
