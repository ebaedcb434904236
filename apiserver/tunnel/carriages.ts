import { badRequest } from '../../api/errors/index.ts';
import type {
  Open,
  PodAttachRequest,
  PodExecRequest,
  PodLogsRequest,
  PodPortForwardRequest,
  PodReadFilesRequest,
  PodWriteFilesRequest,
} from '../../api/generated/types.ts';
import type { AccessVerb } from '../authz/attributes.ts';

/** Names a pod, and a container of it or a port. */
export interface StreamStart {
  readonly namespace?: string;
  readonly name?: string;
  readonly options?: { readonly container?: string; readonly ports?: readonly number[] };
}

/** How one method is carried by the agents' streams. */
export interface Carriage<Start extends StreamStart> {
  readonly verb: AccessVerb;
  /** What the client has to be allowed besides that. */
  alsoVerb?(start: Start): AccessVerb | undefined;
  /** The request to the agent: the start frame with the chosen container. */
  open(start: Start): Omit<Open, 'streamId' | 'podUid'>;
  /** The field of ServeRequest that holds what goes to the client. */
  readonly output: number;
  /** Throws INVALID_ARGUMENT for what no agent could serve. */
  check?(start: Start): void;
  /** The pod is meant, not a container of it. */
  readonly wholePod?: true;
}

/** The same for methods that the client sends frames to; the first is the start. */
export interface InputCarriage<Start extends StreamStart> extends Carriage<Start> {
  readonly method: string;
  readonly message: string;
  /** The field of ServeResponse that holds what comes from the client. */
  readonly input: number;
}

export type ExecStart = NonNullable<PodExecRequest['start']>;
export type AttachStart = NonNullable<PodAttachRequest['start']>;
export type PortForwardStart = NonNullable<PodPortForwardRequest['start']>;

export const logs: Carriage<PodLogsRequest> = { verb: 'logs', open: (start) => ({ logs: start }), output: 2 };

export const readFiles: Carriage<PodReadFilesRequest> = {
  verb: 'read-files',
  open: (start) => ({ readFiles: start }),
  output: 7,
  check: ({ options }) => checkPath(options?.path),
};

export const exec: InputCarriage<ExecStart> = {
  verb: 'exec',
  method: 'Exec',
  message: 'berth.core.v1.PodExecRequest',
  open: (start) => ({ exec: start }),
  output: 3,
  input: 1,
  check({ options }) {
    if (!options?.command?.length) throw badRequest('exec: name the command to run');
  },
};

export const attach: InputCarriage<AttachStart> = {
  verb: 'attach',
  // What was written before the client joined is the log's.
  alsoVerb: ({ fromStart }) => (fromStart ? 'logs' : undefined),
  method: 'Attach',
  message: 'berth.core.v1.PodAttachRequest',
  open: (start) => ({ attach: start }),
  output: 5,
  input: 2,
};

export const portForward: InputCarriage<PortForwardStart> = {
  verb: 'port-forward',
  method: 'PortForward',
  message: 'berth.core.v1.PodPortForwardRequest',
  open: (start) => ({ portForward: start }),
  output: 6,
  input: 3,
  wholePod: true,
  check({ options }) {
    const [port = 0, ...more] = options?.ports ?? [];
    if (port < 1 || port > 65_535 || more.length > 0)
      throw badRequest('port-forward: name exactly one port from 1 to 65535; each connection is a call of its own');
  },
};

export const writeFiles: InputCarriage<NonNullable<PodWriteFilesRequest['start']>> = {
  verb: 'write-files',
  method: 'WriteFiles',
  message: 'berth.core.v1.PodWriteFilesRequest',
  open: (start) => ({ writeFiles: start }),
  output: 8,
  input: 4,
  check: ({ options }) => checkPath(options?.path),
};

function checkPath(path: string | undefined): void {
  if (!path) throw badRequest('name a path in the container');
}
