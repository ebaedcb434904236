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
import type { ConnectionForm } from '../registry/admit-connection.ts';

/** Names a pod, and a container of it or a port. */
export interface StreamStart {
  readonly namespace?: string;
  readonly name?: string;
  readonly options?: { readonly container?: string; readonly ports?: readonly number[] };
}

/** How a method is asked of the rules that users add. */
export interface AdmittedStream<Start> {
  readonly form: ConnectionForm;
  options(start: Start): object;
  /** Options that rules have changed count for nothing: they stand for what Kubernetes has no words for. */
  readonly fixed?: true;
}

const execForm = { subresource: 'exec', kind: 'PodExecOptions', message: 'berth.core.v1.PodExecOptions' } as const;

/** Streams that come back where the client says nothing of them. */
function streamsOf({ stdin, stdout = true, tty, stderr = !tty, container }: CommandOptions = {}): object {
  const flags = Object.entries({ stdin, stdout, stderr, tty }).filter(([, value]) => value);
  return { ...Object.fromEntries(flags), ...(container && { container }) };
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
  /** Absent: no connection in Kubernetes' words. */
  readonly admitted?: AdmittedStream<Start>;
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

type CommandOptions = NonNullable<AttachStart['options']>;

export const logs: Carriage<PodLogsRequest> = { verb: 'logs', open: (start) => ({ logs: start }), output: 2 };

export const readFiles: Carriage<PodReadFilesRequest> = {
  verb: 'read-files',
  open: (start) => ({ readFiles: start }),
  output: 7,
  admitted: { form: execForm, options: ({ options }) => streamsOf({ ...containerOf(options), stderr: false }), fixed: true },
  check: ({ options }) => checkPath(options?.path),
};

export const exec: InputCarriage<ExecStart> = {
  verb: 'exec',
  method: 'Exec',
  message: 'berth.core.v1.PodExecRequest',
  open: (start) => ({ exec: start }),
  output: 3,
  input: 1,
  admitted: {
    form: execForm,
    options: ({ options }) => ({ ...streamsOf(options), ...(options?.command && { command: options.command }) }),
  },
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
  admitted: {
    form: { subresource: 'attach', kind: 'PodAttachOptions', message: 'berth.core.v1.PodAttachOptions' },
    options: ({ options }) => streamsOf(options),
  },
};

export const portForward: InputCarriage<PortForwardStart> = {
  verb: 'port-forward',
  method: 'PortForward',
  message: 'berth.core.v1.PodPortForwardRequest',
  open: (start) => ({ portForward: start }),
  output: 6,
  input: 3,
  admitted: {
    form: { subresource: 'portforward', kind: 'PodPortForwardOptions', message: 'berth.core.v1.PodPortForwardOptions' },
    options: ({ options }) => (options?.ports?.length ? { ports: options.ports } : {}),
    fixed: true,
  },
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
  admitted: {
    form: execForm,
    options: ({ options }) => streamsOf({ ...containerOf(options), stdin: true, stdout: false, stderr: false }),
    fixed: true,
  },
  check: ({ options }) => checkPath(options?.path),
};

function containerOf(options: { readonly container?: string } | undefined): CommandOptions {
  return options?.container ? { container: options.container } : {};
}

function checkPath(path: string | undefined): void {
  if (!path) throw badRequest('name a path in the container');
}
