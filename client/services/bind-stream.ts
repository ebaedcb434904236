import { encodeMessage } from '../../api/codec/message.ts';
import type { BindResult, Pod } from '../../api/generated/types.ts';
import { longestTimerMs } from '../../api/meta/timeout.ts';
import type { Connection, Method } from '../connection/connection.ts';
import { ItemStream, itemTimeoutMs } from '../connection/item-stream.ts';
import type { CallOptions, ObjectKey } from './resource-client.ts';

/**
 * The subresource `binding` needs the pod's name; with `uid` it binds this very pod and no later one of the same name.
 */
export interface BindTarget extends ObjectKey {
  readonly uid?: string | undefined;
}

/** A pod that was bound. */
export interface Bound {
  /** Its version with the binding. */
  readonly resourceVersion: string;
}

/**
 * Bindings that share one stream: as PodClient.bind, with the same errors, but those of a moment travel in one message,
 * and the answer is only the pod's new version. The stream is opened with the first binding and again after it broke:
 * those under way then are rejected with UNAVAILABLE, and whether they were carried out is unknown. A server that does
 * not know it gets single calls.
 */
export interface BindStream {
  bind(target: BindTarget, nodeName: string, call?: CallOptions): Promise<Bound>;
  /** Takes no more; resolves when every binding has its answer. */
  close(): Promise<void>;
}

const bindStreamMethod: Method = {
  path: '/berth.core.v1.Pods/BindStream',
  request: 'berth.core.v1.BindStreamRequest',
  response: 'berth.core.v1.BindStreamResponse',
};

export function bindingRequest({ namespace, name, uid }: BindTarget, nodeName: string): object {
  return { object: { metadata: { namespace, name, uid }, target: { kind: 'Node', apiVersion: 'v1', name: nodeName } } };
}

export function openBindStream(connection: Connection, bindMethod: Method, { signal, timeoutMs }: CallOptions = {}): BindStream {
  const stream = new ItemStream<BindResult>({
    method: bindStreamMethod,
    open: () => connection.duplex(bindStreamMethod, { signal }),
    signal,
    timeoutMs: connection.timeLimit(timeoutMs, itemTimeoutMs) ?? longestTimerMs,
  });
  return {
    async bind(target, nodeName, call) {
      const binding = bindingRequest(target, nodeName);
      const request = {
        encode: (id: number) => encodeMessage('berth.core.v1.BindItem', { id, binding }),
        async unary(own: CallOptions): Promise<BindResult> {
          const { metadata } = await connection.unary<Pod>(bindMethod, binding, own);
          return { bound: { resourceVersion: metadata?.resourceVersion ?? '' } };
        },
      };
      const { bound } = await stream.send(request, call);
      return { resourceVersion: bound?.resourceVersion ?? '' };
    },
    close: () => stream.close(),
  };
}
