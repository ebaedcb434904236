import * as grpc from '@grpc/grpc-js';
import { messageType, serviceType } from '../../api/codec/descriptors.ts';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import { createTestPki, type TestPki } from './test-pki.ts';

type Unary = (request: Record<string, unknown>, call: grpc.ServerUnaryCall<Buffer, Buffer>) => object | Promise<object>;
type Streaming = (request: Record<string, unknown>, call: ScriptedStream) => void;
type Duplex = (call: ScriptedStream) => void;

/** A call as scripts see it: messages in their in-memory form. */
export interface ScriptedStream {
  /** False when the reader is too slow. */
  write(message: object): boolean;
  end(): void;
  fail(error: object): void;
  onMessage(callback: (message: Record<string, unknown>) => void): void;
  onEnd(callback: () => void): void;
  onCancelled(callback: () => void): void;
  readonly metadata: grpc.Metadata;
  /** The library's own call, to pause it. */
  readonly raw: grpc.ServerDuplexStream<Buffer, Buffer>;
}

export interface Script {
  /** By method: "berth.core.v1.Pods/Get". */
  readonly unary?: Readonly<Record<string, Unary>>;
  readonly streaming?: Readonly<Record<string, Streaming>>;
  readonly duplex?: Readonly<Record<string, Duplex>>;
}

export interface ScriptedServer {
  readonly address: string;
  readonly pki: TestPki;
  /** Ends every connection at once. */
  stop(): void;
}

interface MethodShape {
  readonly requestType: string;
  readonly responseType: string;
}

function shapeOf(path: string): MethodShape & { readonly package: string } {
  const [service, method] = path.split('/') as [string, string];
  const { requestType, responseType } = serviceType(service).methods[method]!;
  return { requestType, responseType, package: service.slice(0, service.lastIndexOf('.')) };
}

function fullName(type: string, pkg: string): string {
  const name = type.includes('.') ? type : `${pkg}.${type}`;
  return messageType(name) && name;
}

function streamOf(call: grpc.ServerDuplexStream<Buffer, Buffer>, request: string, response: string): ScriptedStream {
  call.on('error', () => {});
  return {
    raw: call,
    metadata: call.metadata,
    write: (message) => call.write(encodeMessage(response, message)),
    end: () => call.end(),
    fail: (error) => void call.emit('error', error),
    onMessage: (callback) => void call.on('data', (bytes: Buffer) => callback(decodeMessage(request, bytes))),
    onEnd: (callback) => void call.on('end', callback),
    onCancelled: (callback) => void call.on('cancelled', callback),
  };
}

const asIs = (bytes: Buffer): Buffer => bytes;

/** A gRPC server with TLS whose answers the test writes: for what a client must bear and a good server never does. */
export async function startScriptedServer(
  script: Script,
  options: { pki?: TestPki; port?: number; addresses?: string[] } = {},
): Promise<ScriptedServer> {
  const pki = options.pki ?? (await createTestPki());
  const own = await pki.issue('CN=server', { addresses: options.addresses ?? ['127.0.0.1', 'localhost'] });
  const server = new grpc.Server();
  const add = (
    path: string,
    requestStream: boolean,
    responseStream: boolean,
    handler: (request: string, response: string) => grpc.UntypedHandleCall,
  ) => {
    const shape = shapeOf(path);
    const codec = { requestSerialize: asIs, requestDeserialize: asIs, responseSerialize: asIs, responseDeserialize: asIs };
    const name = path.split('/')[1]!;
    const call = handler(fullName(shape.requestType, shape.package), fullName(shape.responseType, shape.package));
    server.addService({ [name]: { path: `/${path}`, requestStream, responseStream, ...codec } }, { [name]: call });
  };
  for (const [path, answer] of Object.entries(script.unary ?? {}))
    add(
      path,
      false,
      false,
      (request, response): grpc.handleUnaryCall<Buffer, Buffer> =>
        (call, callback) => {
          Promise.resolve()
            .then(() => answer(decodeMessage(request, call.request), call))
            .then(
              (message) => callback(null, encodeMessage(response, message)),
              (error) => callback(error),
            );
        },
    );
  for (const [path, answer] of Object.entries(script.streaming ?? {}))
    add(
      path,
      false,
      true,
      (request, response): grpc.handleServerStreamingCall<Buffer, Buffer> =>
        (call) =>
          answer(
            decodeMessage(request, call.request),
            streamOf(call as unknown as grpc.ServerDuplexStream<Buffer, Buffer>, request, response),
          ),
    );
  for (const [path, answer] of Object.entries(script.duplex ?? {}))
    add(
      path,
      true,
      true,
      (request, response): grpc.handleBidiStreamingCall<Buffer, Buffer> =>
        (call) =>
          answer(streamOf(call, request, response)),
    );
  const credentials = grpc.ServerCredentials.createSsl(
    Buffer.from(pki.ca),
    [{ cert_chain: Buffer.from(own.cert), private_key: Buffer.from(own.key) }],
    false,
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(`127.0.0.1:${options.port ?? 0}`, credentials, (error, bound) => (error ? reject(error) : resolve(bound))),
  );
  return { address: `127.0.0.1:${port}`, pki, stop: () => server.forceShutdown() };
}
