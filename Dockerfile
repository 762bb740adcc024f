# docker build -t ringmaster . && docker run --rm ringmaster
#
# runs the quick start.  For your own engines:
# docker run --rm -it -v "$PWD:/work" -w /work ringmaster my.ctl run
FROM python:3.13-slim
COPY . /ringmaster
RUN pip install --no-cache-dir -r /ringmaster/requirements/run.lock \
    && pip install --no-deps --no-build-isolation /ringmaster
WORKDIR /ringmaster
ENTRYPOINT ["ringmaster"]
CMD ["controlfiles/tune.ctl", "run", "-j", "2"]
