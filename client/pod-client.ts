import { unavailable } from '../api/errors/index.ts';
import type { Pod, PodExecOptions, PodExecRequest, PodExecResponse, PodLogsResponse } from '../api/generated/types.ts';
import type { Kind } from '../api/kinds/kind.ts';
import { cancelled } from './call-errors.ts';
import type { BindTarget, ExecOutput, ExecStream, PodClient } from './client.ts';
import type { Connection, Method } from './connection.ts';
import type { Duplex } from './duplex.ts';
import { createKindClient } from './kind-client.ts';
import type { CallOptions, ObjectKey } from './resource-client.ts';

const methods = {
  bind: { path: '/berth.core.v1.Pods/Bind', request: 'berth.core.v1.BindingWriteRequest', response: 'berth.core.v1.Pod' },
  logs: { path: '/berth.core.v1.Pods/Logs', request: 'berth.core.v1.PodLogsRequest', response: 'berth.core.v1.PodLogsResponse' },
  exec: { path: '/berth.core.v1.Pods/Exec', request: 'berth.core.v1.PodExecRequest', response: 'berth.core.v1.PodExecResponse' },
} satisfies Record<string, Method>;

/** The client for pods: the standard methods and what is special to them. */
export function createPodClient(connection: Connection, kind: Kind<Pod>): PodClient {
  return {
    ...createKindClient(connection, kind),
    bind({ namespace, name, uid }: BindTarget, nodeName: string, call?: CallOptions) {
      const object = { metadata: { namespace, name, uid }, target: { kind: 'Node', apiVersion: 'v1', name: nodeName } };
      return connection.unary<Pod>(methods.bind, { object }, call);
    },
    async *logs({ namespace, name }: ObjectKey, options = {}, call) {
      const pieces = connection.stream<PodLogsResponse>(methods.logs, { namespace, name, options }, call);
      for await (const { data } of pieces) if (data && data.length > 0) yield data;
    },
    exec(key, options, call) {
      return createExecStream(connection.duplex<PodExecRequest, PodExecResponse>(methods.exec, call), key, options);
    },
  };
}

function createExecStream(duplex: Duplex<PodExecRequest, PodExecResponse>, key: ObjectKey, options: PodExecOptions): ExecStream {
  const exit = deferred<number>();
  // Whoever does not ask for the exit code must not die of an unhandled rejection.
  exit.promise.catch(() => {});
  const started = duplex.write({ start: { ...(key.namespace && { namespace: key.namespace }), name: key.name, options } });
  started.catch(() => {});
  /** Frames that need no answer; a call that is over tells so in `output`. */
  const send = (frame: PodExecRequest) => void duplex.write(frame).catch(() => {});

  async function* output(): AsyncGenerator<ExecOutput> {
    try {
      for await (const frame of duplex.messages()) {
        if (frame.stdout) yield { stream: 'stdout', data: frame.stdout };
        else if (frame.stderr) yield { stream: 'stderr', data: frame.stderr };
        else if (frame.exit) exit.resolve(frame.exit.code ?? 0);
      }
      exit.reject(unavailable(`exec in pod "${key.name}": the connection ended before the command did`));
    } catch (error) {
      exit.reject(error);
      throw error;
    } finally {
      // Says nothing new unless the loop was left early.
      exit.reject(cancelled(methods.exec));
      duplex.cancel();
    }
  }

  return {
    async write(data) {
      await started;
      await duplex.write({ stdin: Buffer.from(data.buffer, data.byteOffset, data.byteLength) });
    },
    closeInput: () => send({ stdinClose: {} }),
    resize: (width, height) => send({ resize: { width, height } }),
    output,
    exitCode: () => exit.promise,
    close: () => duplex.cancel(),
  };
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
