# syntax=docker/dockerfile:1
# docker build --target cpu -t sbert-studio .     or --target cuda, for a host with the NVIDIA container toolkit; see docs/deployment.md.
ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS wheel
WORKDIR /src
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY assets assets
COPY sbert_studio sbert_studio
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /dist .

# The packages change less often than the program: a layer of their own.
FROM python:${PYTHON}-slim AS packages-cuda
COPY requirements.txt /
RUN --mount=type=cache,target=/root/.cache/pip python -m venv /opt/studio \
    && /opt/studio/bin/pip install --requirement /requirements.txt

FROM python:${PYTHON}-slim AS packages-cpu
COPY requirements.txt /
RUN --mount=type=cache,target=/root/.cache/pip python -m venv /opt/studio \
    && /opt/studio/bin/pip install "$(grep '^torch==' /requirements.txt)" --index-url https://download.pytorch.org/whl/cpu \
    && /opt/studio/bin/pip install --requirement /requirements.txt

FROM python:${PYTHON}-slim AS base
RUN useradd --uid 1000 --create-home studio && install --directory --owner studio /data
ENV PATH=/opt/studio/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    SBERT_STUDIO_HOME=/data \
    SBERT_STUDIO_HOST=0.0.0.0 \
    HF_HOME=/data/huggingface
VOLUME /data
WORKDIR /data
EXPOSE 7860
# Of the page, on the port that it reads from its environment; a container that runs another command sets its own, or none.
HEALTHCHECK --interval=30s --timeout=10s --start-period=120s \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:%s/gradio_api/app_id' % (os.getenv('SBERT_STUDIO_PORT') or 7860), timeout=8)"]
ENTRYPOINT ["sbert-studio"]
CMD ["app"]

FROM base AS cuda
COPY --from=packages-cuda /opt/studio /opt/studio
RUN --mount=type=bind,from=wheel,source=/dist,target=/dist pip install --no-cache-dir --no-deps /dist/*.whl
USER 1000

FROM base AS cpu
COPY --from=packages-cpu /opt/studio /opt/studio
RUN --mount=type=bind,from=wheel,source=/dist,target=/dist pip install --no-cache-dir --no-deps /dist/*.whl
USER 1000
