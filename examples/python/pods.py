"""Creates, lists and watches Berth's pods from Python.

    berth proto export --without-optional protos
    python3 -m grpc_tools.protoc -I protos --python_out=. --grpc_python_out=. $(cd protos && find . -name '*.proto' -printf '%P ')
    python3 pods.py create NAME IMAGE [COMMAND...]
    python3 pods.py list
    python3 pods.py watch

It talks to the cluster of the current context (`berth config view`).
"""

import base64
import json
import signal
import subprocess
import sys
import time

import grpc
from google.protobuf.json_format import MessageToDict

from berth.core.v1 import container_pb2, pod_kind_pb2, pod_pb2, pod_service_pb2_grpc
from berth.meta.v1 import object_meta_pb2, requests_pb2


def connect():
    """A channel with the certificates of the current context, and the namespace that it works in."""
    text = subprocess.run(
        ["berth", "config", "view", "--raw", "--minify", "-o", "json"], check=True, stdout=subprocess.PIPE
    ).stdout
    config = json.loads(text)
    context = config["contexts"][0]["context"]
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]

    def data(of, key):
        return base64.b64decode(of[key]) if key in of else None

    credentials = grpc.ssl_channel_credentials(
        data(cluster, "certificate-authority-data"), data(user, "client-key-data"), data(user, "client-certificate-data")
    )
    if "token" in user:
        credentials = grpc.composite_channel_credentials(credentials, grpc.access_token_call_credentials(user["token"]))
    # A connection that has gone silent is noticed after 30 s; one that was lost is tried again at least every 5 s.
    options = [
        ("grpc.keepalive_time_ms", 20_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.max_reconnect_backoff_ms", 5_000),
        ("grpc.max_receive_message_length", 16 * 1024 * 1024),
    ]
    address = cluster["server"].split("://")[-1]
    return grpc.secure_channel(address, credentials, options), context.get("namespace", "default")


def create(pods, namespace, name, image, *command):
    pod = pod_pb2.Pod(
        metadata=object_meta_pb2.ObjectMeta(name=name, namespace=namespace),
        spec=pod_pb2.PodSpec(containers=[container_pb2.Container(name="main", image=image, command=command)]),
    )
    made = pods.Create(pod_kind_pb2.PodWriteRequest(object=pod), timeout=10)
    print(f"created {made.metadata.name} at version {made.metadata.resourceVersion}", flush=True)


def pages(pods, namespace):
    """All pods as they were at one version, page by page, and that version."""
    found, options = [], requests_pb2.ListOptions(limit=100)
    while True:
        page = pods.List(requests_pb2.ListRequest(namespace=namespace, options=options), timeout=10)
        found += page.items
        if not getattr(page.metadata, "continue"):
            return found, page.metadata.resourceVersion
        setattr(options, "continue", getattr(page.metadata, "continue"))


def show(kind, pod):
    print(kind, pod.metadata.name, pod.status.phase, pod.metadata.resourceVersion, flush=True)


def watch(pods, namespace):
    """Prints every change once and in order, also over restarts of the server."""
    version = None
    while True:
        try:
            if version is None:
                found, version = pages(pods, namespace)
                for pod in found:
                    show("LISTED", pod)
            options = requests_pb2.ListOptions(resourceVersion=version, allowWatchBookmarks=True)
            for batch in pods.Watch(requests_pb2.WatchRequest(namespace=namespace, options=options), wait_for_ready=True):
                for event in batch.events:
                    version = event.object.metadata.resourceVersion
                    if event.type != "BOOKMARK":
                        show(event.type, event.object)
            # The server ends watches that are old; the next one goes on behind the last version.
        except grpc.RpcError as error:
            code = error.code()
            if code == grpc.StatusCode.OUT_OF_RANGE:
                version = None  # too old to go on from: begin with a fresh list
            elif code not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.CANCELLED):
                raise
            time.sleep(1)


def main(verb="", *arguments):
    channel, namespace = connect()
    pods = pod_service_pb2_grpc.PodsStub(channel)
    try:
        if verb == "create" and len(arguments) >= 2:
            create(pods, namespace, *arguments)
        elif verb == "list":
            for pod in pages(pods, namespace)[0]:
                # Who set which field is long, and seldom what one looks for.
                del pod.metadata.managedFields[:]
                print(json.dumps(MessageToDict(pod)))
        elif verb == "watch":
            watch(pods, namespace)
        else:
            sys.exit(__doc__)
    except grpc.RpcError as error:
        sys.exit(f"{error.code().name}: {error.details()}")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
