# An image in which `dream serve` dreams every night. See docs/install.md, "In a container".
ARG BASE=python:3.13-slim-trixie

FROM ${BASE} AS build
COPY pyproject.toml README.md LICENSE requirements-slim.txt /src/
COPY dream /src/dream
COPY prompts /src/prompts
COPY cron /src/cron
RUN python3 -m venv /opt/dream \
    && /opt/dream/bin/pip install -q --no-cache-dir --no-compile --no-deps -r /src/requirements-slim.txt \
    && /opt/dream/bin/pip install -q --no-cache-dir --no-compile --no-deps /src \
    && /opt/dream/bin/pip uninstall -q -y pip setuptools \
    # LiteLLM's proxy server brings a web application of its own, which nothing here serves.
    && rm -rf /opt/dream/lib/python3*/site-packages/litellm/proxy/_experimental \
              /opt/dream/lib/python3*/site-packages/litellm/proxy/swagger \
    && /opt/dream/bin/python3 -m compileall -q -j 0 /opt/dream/lib/python3*/site-packages/dream

FROM ${BASE}
RUN apt-get update -q && apt-get install -y -q --no-install-recommends git ca-certificates tzdata \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home dream \
    && install -d -o dream -g dream -m 0700 /memory
COPY --from=build /opt/dream /opt/dream
# The workspace and what this machine knows of it (trust, the machine's name) lie side by side in one volume.
ENV PATH=/opt/dream/bin:$PATH DREAM_WORKSPACE=/memory/workspace XDG_STATE_HOME=/memory/state
USER dream
WORKDIR /memory
VOLUME /memory
ENTRYPOINT ["dream"]
CMD ["serve"]
