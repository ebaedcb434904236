import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type handleUnaryCall, Server, type ServerWritableStream } from '@grpc/grpc-js';
import { open } from 'lmdb';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import type { GetRequest, Pod, PodWriteRequest } from '../../api/generated/types.ts';
import { ListenerCredentials } from '../../apiserver/rpc/listener/credentials.ts';
import { barePath, cutFrames } from './bare-protocol.ts';

/**
 * The floor of the API's benchmarks, as a process of its own: grpc-js and lmdb as a program uses them that is written
 * with nothing else. Handlers take and give messages: a create is decoded, named, encoded into the store and answered;
 * a get is read from the store, decoded and answered. The codec is Berth's own, which is faster than that of
 * proto-loader. It checks nothing, knows no users and keeps no history. TLS is as Berth has it; a create is on disk
 * when it is acknowledged, and those that come meanwhile share the next commit (lmdb's own batches, synced). What is
 * stored and answered is a pod as Berth stores and sends it, with all defaults.
 *
 * Arguments: a folder with the file "object", the folder of the certificates, the port.
 */
const [folder = '', pki = '', port = ''] = process.argv.slice(2);

// As in apiserver/storage/lmdb/tables.ts: without overlapping syncs a promise resolves after the sync.
const objects = open<Buffer, number>({
  path: join(folder, 'store'),
  noSubdir: false,
  overlappingSync: false,
  encoding: 'binary',
});
const podType = 'berth.core.v1.Pod';
const complete = decodeMessage<Pod>(podType, readFileSync(join(folder, 'object')));
const watchers = new Set<ServerWritableStream<Buffer, Buffer>>();
let newest = 0;
let pages: Buffer[] | undefined;

const create: handleUnaryCall<PodWriteRequest, Pod> = ({ request }, answer) => {
  newest += 1;
  const name = `${request.object?.metadata?.generateName}${newest}`;
  const created = { ...complete, metadata: { ...complete.metadata, name } };
  objects.put(newest, encodeMessage(podType, created)).then(
    () => answer(null, created),
    (error: Error) => answer(error),
  );
};

const get: handleUnaryCall<GetRequest, Pod> = (_, answer) => answer(null, decodeMessage<Pod>(podType, objects.get(1)!));

function watch(call: ServerWritableStream<Buffer, Buffer>): void {
  watchers.add(call);
  call.once('cancelled', () => watchers.delete(call));
}

/** Writes the messages of a file to every watcher, as fast as they take them. */
const play: handleUnaryCall<Buffer, Buffer> = ({ request }, answer) => {
  const messages = cutFrames(readFileSync(request.toString('utf8')));
  Promise.all([...watchers].map((call) => writeAll(call, messages))).then(
    () => answer(null, Buffer.alloc(0)),
    (error: Error) => answer(error),
  );
};

/** A page of a list, by its number; the pages are messages of a file, too. */
const page: handleUnaryCall<Buffer, Buffer> = ({ request }, answer) => {
  pages ??= cutFrames(readFileSync(join(folder, 'messages')));
  answer(null, pages[Number(request.toString('utf8'))]!);
};

async function writeAll(call: ServerWritableStream<Buffer, Buffer>, messages: readonly Buffer[]): Promise<void> {
  for (const message of messages)
    if (!call.write(message)) await new Promise<void>((resolve) => void call.once('drain', resolve));
}

const asIs = (bytes: Buffer): Buffer => bytes;
/** As a client would use it: only the server's half is called. */
const method = <I extends object, O extends object>(path: string, request: string, response: string) => ({
  path,
  requestStream: false,
  responseStream: false,
  requestSerialize: (value: I) => encodeMessage(request, value),
  requestDeserialize: (bytes: Buffer) => decodeMessage<I>(request, bytes),
  responseSerialize: (value: O) => encodeMessage(response, value),
  responseDeserialize: (bytes: Buffer) => decodeMessage<O>(response, bytes),
});
const bytesAsIs = { requestSerialize: asIs, requestDeserialize: asIs, responseSerialize: asIs, responseDeserialize: asIs };
const server = new Server({ 'grpc.enable_channelz': 0 });
server.addService(
  {
    create: method<PodWriteRequest, Pod>(barePath.create, 'berth.core.v1.PodWriteRequest', podType),
    get: method<GetRequest, Pod>(barePath.get, 'berth.meta.v1.GetRequest', podType),
    page: { path: barePath.page, requestStream: false, responseStream: false, ...bytesAsIs },
    play: { path: barePath.play, requestStream: false, responseStream: false, ...bytesAsIs },
    watch: { path: barePath.watch, requestStream: false, responseStream: true, ...bytesAsIs },
  },
  { create, get, play, page, watch },
);
const read = (name: string): string => readFileSync(join(pki, name), 'utf8');
const credentials = new ListenerCredentials({ certificate: read('server.crt'), key: read('server.key'), ca: read('ca.crt') });
server.bindAsync(`127.0.0.1:${port}`, credentials, (error) => {
  if (error) throw error;
  process.stdout.write('ready\n');
});
