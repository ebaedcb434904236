"""What generic tools do: knows nothing of the API but its address, asks reflection, and sends JSON.

generic_tool.py METHOD JSON: METHOD is package.Service/Method; prints the answer as JSON, one line for each message.
"""

import json
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from grpc.reflection.v1 import reflection_pb2, reflection_pb2_grpc  # compiled by the test

import pods


def pool_of(channel, symbol):
    """Every file that the symbol needs, as the server describes them."""
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    pool, known = descriptor_pool.DescriptorPool(), set()

    def ask(**question):
        (answer,) = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(**question)]))
        if answer.HasField("error_response"):
            sys.exit(f"reflection: {answer.error_response.error_message}")
        files = [
            descriptor_pb2.FileDescriptorProto.FromString(each)
            for each in answer.file_descriptor_response.file_descriptor_proto
        ]
        here = {file.name: file for file in files}

        def add(file):
            if file.name in known:
                return
            known.add(file.name)
            for name in file.dependency:
                if name in here:
                    add(here[name])
                elif name not in known:
                    ask(file_by_filename=name)
            pool.Add(file)

        for file in files:
            add(file)

    ask(file_containing_symbol=symbol)
    return pool


def main(method, text):
    channel, _ = pods.connect()
    service, name = method.split("/")
    pool = pool_of(channel, service)
    described = pool.FindServiceByName(service).methods_by_name[name]
    factory = message_factory.MessageFactory(pool)
    request, response = factory.GetPrototype(described.input_type), factory.GetPrototype(described.output_type)
    call = channel.unary_stream(  # a unary answer is a stream of one
        f"/{method}", request_serializer=request.SerializeToString, response_deserializer=response.FromString
    )
    try:
        for answer in call(json_format.ParseDict(json.loads(text), request()), timeout=10):
            print(json.dumps(json_format.MessageToDict(answer, preserving_proto_field_name=True)), flush=True)
    except grpc.RpcError as error:
        sys.exit(f"{error.code().name}: {error.details()}")


main(*sys.argv[1:])
