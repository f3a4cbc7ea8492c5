"""Export to OpenVINO, for Intel processors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .base import FORMATS
from .onnx import ONNX_FILE, OnnxFormat, write_graph, write_without_weights

if TYPE_CHECKING:
    from ..sentence_encoder import SentenceEncoder


@FORMATS.register("openvino")
class OpenVinoFormat(OnnxFormat):
    """The ONNX graph in OpenVINO's own form, in float32."""

    title = "OpenVINO"
    readers = "OpenVINO in Python, C++ and JavaScript, on Intel CPUs and GPUs"
    extra = "openvino"
    packages = ("onnx", "openvino")
    script = "export/openvino.py.j2"
    tags = ("openvino",)
    file = "openvino/openvino_model.xml"

    def write(self, encoder: SentenceEncoder, folder: Path) -> None:
        """See :meth:`ExportFormat.write`."""
        import openvino

        write_without_weights(encoder, folder)
        write_graph(encoder, folder / ONNX_FILE)
        target = folder / self.file
        target.parent.mkdir()
        openvino.save_model(openvino.convert_model(folder / ONNX_FILE), target, compress_to_fp16=False)
        (folder / ONNX_FILE).unlink()
        (folder / ONNX_FILE).parent.rmdir()
