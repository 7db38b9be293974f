# Ibid in one image: `ibid serve` as a user of its own, data under /data, wheels only (linux/amd64, linux/arm64).
# Alone it starts every store embedded; docker-compose.yml runs it on servers. Why so: docs/adr/0001.

# The Python and the Debian that the test suite runs on.
FROM python:3.11-slim-bookworm AS base

FROM base AS build
WORKDIR /src
COPY installer.lock requirements.lock pyproject.toml ./
# requirements.lock holds the tools of development too. As a constraint it pins version and hash of whatever
# pyproject.toml asks for, and leaves the rest out; uv refuses a file whose hash is another.
RUN python -m pip install --no-cache-dir --no-deps --require-hashes --requirement installer.lock \
    && python -m venv --without-pip /opt/ibid \
    && uv pip install --python /opt/ibid --no-cache --link-mode copy --compile-bytecode \
        --only-binary :all: --verify-hashes --constraint requirements.lock --requirement pyproject.toml
COPY LICENSE README.md ./
COPY alembic alembic
COPY app app
RUN uv pip install --python /opt/ibid --no-cache --link-mode copy --compile-bytecode \
        --no-deps --build-constraint requirements.lock .

FROM base
LABEL org.opencontainers.image.title="Ibid" \
      org.opencontainers.image.description="Answers from everything a person keeps, with sources" \
      org.opencontainers.image.licenses="Apache-2.0"
# A line in /etc/passwd is needed: the embedded PostgreSQL asks for the user's name.
RUN groupadd --gid 10001 ibid \
    && useradd --uid 10001 --gid ibid --home-dir /data --no-create-home --shell /usr/sbin/nologin ibid \
    && install --directory --owner ibid --group ibid --mode 0700 /data
COPY --from=build /opt/ibid /opt/ibid
# Bytecode was made above; the file system may be read-only but for /data and /tmp.
ENV PATH=/opt/ibid/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    IBID_DATA_DIR=/data \
    IBID_HOST=0.0.0.0 \
    IBID_PORT=8000
WORKDIR /data
VOLUME /data
EXPOSE 8000
# By number, so that an orchestrator can see that it is not root.
USER 10001:10001
# Alive, not ready: whoever restarts what is unhealthy must not do so because a store is away.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-I", "-c", "import http.client, os, sys; c = http.client.HTTPConnection('127.0.0.1', int(os.environ['IBID_PORT']), timeout=4); c.request('GET', '/healthz'); sys.exit(c.getresponse().status != 200)"]
# The program itself is what gets SIGTERM; it ends within five seconds.
ENTRYPOINT ["ibid"]
CMD ["serve"]
