import { internal, unavailable } from '../../api/errors/index.ts';
import type {
  DeleteOptions,
  FileStat,
  Pod,
  PodAttachOptions,
  PodAttachRequest,
  PodAttachResponse,
  PodExecRequest,
  PodExecResponse,
  PodFilesOptions,
  PodLogsResponse,
  PodPortForwardRequest,
  PodPortForwardResponse,
  PodReadFilesResponse,
  PodWriteFilesRequest,
  PodWriteFilesResponse,
  WriteOptions,
} from '../../api/generated/types.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { cancelled } from '../connection/call-errors.ts';
import type { Connection, Method } from '../connection/connection.ts';
import type { Duplex } from '../connection/duplex.ts';
import type { AttachedStream, AttachKey, ExecStream, PodStreams } from '../pod-streams/pod-streams.ts';
import { createPortForwardStream } from '../pod-streams/port-forward-stream.ts';
import { asBuffer, createTerminalStream } from '../pod-streams/terminal-stream.ts';
import { type BindStream, type BindTarget, bindingRequest, openBindStream } from './bind-stream.ts';
import { createKindClient } from './kind-client.ts';
import type { CallOptions, ObjectKey, ResourceClient } from './resource-client.ts';

export interface PodClient extends ResourceClient<Pod>, PodStreams {
  /**
   * Replaces the CPU and memory of containers and sidecars, and nothing else;
   * the node takes them over while the pod runs.
   */
  updateResize(object: Pod, options?: WriteOptions, call?: CallOptions): Promise<Pod>;
  /** Replaces the list of ephemeral containers, to which others may only be added; they start beside those that run. */
  updateEphemeralContainers(object: Pod, options?: WriteOptions, call?: CallOptions): Promise<Pod>;
  /**
   * Assigns the pod to the node, once. ABORTED: it is bound already, is another pod,
   * or does not fit on the node any more.
   */
  bind(target: BindTarget, nodeName: string, call?: CallOptions): Promise<Pod>;
  /**
   * Deletes the pod if its PodDisruptionBudget allows that now. RESOURCE_EXHAUSTED with the reason "DisruptionBudget":
   * it does not; `retryAfterMs` says when to ask again, and the error's subject is the budget. `uid` in the key holds
   * it to this very pod.
   */
  evict(target: BindTarget, options?: DeleteOptions, call?: CallOptions): Promise<Pod>;
  /** Many bindings over one stream. `timeoutMs` is for each of them. */
  bindStream(call?: CallOptions): BindStream;
}

const method = (name: string, request = `Pod${name}Request`, response = `Pod${name}Response`): Method => ({
  path: `/berth.core.v1.Pods/${name}`,
  request: `berth.core.v1.${request}`,
  response: `berth.core.v1.${response}`,
});

const methods = {
  bind: method('Bind', 'BindingWriteRequest', 'Pod'),
  evict: { ...method('Evict', '', 'Pod'), request: 'berth.policy.v1.EvictionWriteRequest' },
  updateResize: method('UpdateResize', 'PodWriteRequest', 'Pod'),
  updateEphemeral: method('UpdateEphemeralContainers', 'PodWriteRequest', 'Pod'),
  logs: method('Logs'),
  exec: method('Exec'),
  attach: method('Attach'),
  portForward: method('PortForward'),
  readFiles: method('ReadFiles'),
  writeFiles: method('WriteFiles'),
};

/** The client for pods: the standard methods and what is special to them. */
export function createPodClient(connection: Connection, kind: Kind<Pod>): PodClient {
  const logResponses: PodClient['logResponses'] = ({ namespace, name, containerID }, options = {}, call) =>
    connection.stream<PodLogsResponse>(methods.logs, { ...nameOf({ namespace, name }), containerID, options }, call);
  const openFiles = (key: ObjectKey, options: PodFilesOptions, statOnly: boolean, call?: CallOptions) =>
    connection.stream<PodReadFilesResponse>(methods.readFiles, { ...nameOf(key), options, statOnly }, call);
  return {
    ...createKindClient(connection, kind),
    updateResize: (object, options = {}, call) => connection.unary<Pod>(methods.updateResize, { object, options }, call),
    updateEphemeralContainers: (object, options = {}, call) =>
      connection.unary<Pod>(methods.updateEphemeral, { object, options }, call),
    bind: (target, nodeName, call) => connection.unary<Pod>(methods.bind, bindingRequest(target, nodeName), call),
    evict({ namespace, name, uid }, options = {}, call) {
      const preconditions = { ...options.preconditions, ...(uid !== undefined && { uid }) };
      const object = { metadata: { namespace, name }, deleteOptions: { ...options, preconditions } };
      return connection.unary<Pod>(methods.evict, { object }, call);
    },
    bindStream: (call) => openBindStream(connection, methods.bind, call),
    logResponses,
    async *logs(key, options, call) {
      for await (const { data } of logResponses(key, options, call)) if (data && data.length > 0) yield data;
    },
    exec: (key, options, call) => openExec(connection.duplex(methods.exec, call), key, { ...nameOf(key), options }),
    attach: (key, options, call) => openAttach(connection.duplex(methods.attach, call), key, options),
    portForward(key, port, call) {
      const duplex = connection.duplex<PodPortForwardRequest, PodPortForwardResponse>(methods.portForward, call);
      return createPortForwardStream(duplex, { ...nameOf(key), options: { ports: [port] } });
    },
    async stat(key, files, call): Promise<FileStat> {
      for await (const { stat } of openFiles(key, files, true, call)) if (stat) return stat;
      throw internal(`stat ${files.path ?? ''} in pod "${key.name}": no answer`);
    },
    async *readFiles(key, files, call) {
      for await (const { data } of openFiles(key, files, false, call)) if (data && data.length > 0) yield data;
    },
    async writeFiles(key, options, archive, call) {
      const duplex = connection.duplex<PodWriteFilesRequest, PodWriteFilesResponse>(methods.writeFiles, call);
      await sendFiles(duplex, { start: { ...nameOf(key), options } }, archive);
    },
  };
}

function openAttach(
  duplex: Duplex<PodAttachRequest, PodAttachResponse>,
  { fromStart, ...key }: AttachKey,
  options: PodAttachOptions,
): AttachedStream {
  let told = false;
  const start = { ...nameOf(key), options, ...(fromStart && { fromStart }) };
  const onFrame = (frame: PodAttachResponse): void => {
    if (frame.fromStart) told = true;
  };
  return { ...createTerminalStream(duplex, start, { onFrame }), isFromStart: () => told };
}

function nameOf({ namespace, name }: ObjectKey): { namespace?: string; name: string } {
  return { ...(namespace && { namespace }), name };
}

function openExec(
  duplex: Duplex<PodExecRequest, PodExecResponse>,
  key: ObjectKey,
  start: NonNullable<PodExecRequest['start']>,
): ExecStream {
  const exit = deferred<number>();
  // A caller that does not ask for the exit code must not die of an unhandled rejection.
  exit.promise.catch(() => {});
  const stream = createTerminalStream(duplex, start, {
    onFrame: (frame) => frame.exit && exit.resolve(frame.exit.code ?? 0),
    onEnd: (error) => exit.reject(error ?? unavailable(`exec in pod "${key.name}": the connection ended before the command did`)),
  });
  async function* output() {
    try {
      yield* stream.output();
    } finally {
      // Says nothing new unless the loop was left early.
      exit.reject(cancelled(methods.exec));
    }
  }
  return { ...stream, output, exitCode: () => exit.promise };
}

/** Sends an archive and waits until it is unpacked; an answer that comes before is the call's error. */
async function sendFiles(
  duplex: Duplex<PodWriteFilesRequest, PodWriteFilesResponse>,
  start: PodWriteFilesRequest,
  archive: AsyncIterable<Uint8Array>,
): Promise<void> {
  const answer = (async () => {
    for await (const { written } of duplex.messages()) if (written) return;
    throw unavailable('write files: the connection ended before all was written');
  })();
  const sending = (async () => {
    await duplex.write(start);
    for await (const data of archive) await duplex.write({ data: asBuffer(data) });
    await duplex.write({ dataEnd: {} });
  })();
  try {
    // What goes wrong with the sending when the call has failed is only a consequence: the answer says why.
    await Promise.race([
      answer,
      sending.then(
        () => answer,
        (error) => (duplex.closed.aborted ? answer : Promise.reject(error)),
      ),
    ]);
  } finally {
    answer.catch(() => {});
    duplex.cancel();
  }
}

function deferred<T>(): { promise: Promise<T>; resolve(value: T): void; reject(error: unknown): void } {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
