import type { PodLogsRequest } from '../../../api/generated/types.ts';
import type { CallContext } from '../../verbs/call-context.ts';
import type { HttpRequest, HttpResponse } from '../http-call.ts';
import type { Upgrade } from './upgrade.ts';

/** A call that goes on as long as its client and its pod want. */
export interface StreamRoute {
  readonly of: 'stream';
  /** As gRPC names it. */
  readonly method: string;
  /** Reads and authorizes the request; has no effect. */
  prepare(context: CallContext): PreparedHttpStream;
}

export interface PreparedHttpStream {
  /** What it throws before it has sent anything is answered with a Status. */
  run(way: StreamWay): Promise<void>;
}

/** What a stream is sent over. */
export interface StreamWay {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  /** Present where the client wants another protocol on its connection. */
  readonly upgrade: Upgrade | undefined;
  readonly context: CallContext;
}

export type LogOptions = NonNullable<PodLogsRequest['options']>;
