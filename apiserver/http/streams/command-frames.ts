import { encodeMessage } from '../../../api/codec/message.ts';
import { field } from '../../../api/codec/wire-format.ts';
import { WireReader } from '../../../api/codec/wire-reader.ts';
import type { ApiError } from '../../../api/errors/index.ts';
import { isJsonObject } from '../../../api/meta/merge-patch.ts';
import { statusOf } from '../errors/status-object.ts';

/** PodExecRequest and PodAttachRequest have the same frames. */
const STDIN = 2;
const STDOUT = 1;
const STDERR = 2;
const EXIT = 3;
const mostColumns = 65_535;

export const stdinFrame = (bytes: Uint8Array): Buffer => field(STDIN, bytes);
export const closeFrame = (): Buffer => encodeMessage('berth.core.v1.PodExecRequest', { stdinClose: {} });

/** A size of the terminal, {"Width":80,"Height":24}; undefined for what is none. */
export function resizeFrame(text: string): Buffer | undefined {
  try {
    const size: unknown = JSON.parse(text);
    if (!isJsonObject(size)) return undefined;
    const [width, height] = [Number(size.Width), Number(size.Height)];
    if (![width, height].every((each) => Number.isInteger(each) && each > 0 && each <= mostColumns)) return undefined;
    return encodeMessage('berth.core.v1.PodExecRequest', { resize: { width, height } });
  } catch {
    return undefined;
  }
}

export type CommandOutput =
  | { readonly of: 'stdout' | 'stderr'; readonly bytes: Uint8Array }
  | { readonly of: 'exit'; readonly code: number };

/** What the agent says in a frame of exec (which alone has an exit) or attach. */
export function* outputsOf(frame: Buffer, hasExit: boolean): Generator<CommandOutput> {
  const reader = new WireReader(frame);
  while (reader.next()) {
    if (reader.number === STDOUT) yield { of: 'stdout', bytes: reader.value() };
    else if (reader.number === STDERR) yield { of: 'stderr', bytes: reader.value() };
    else if (reader.number === EXIT && hasExit) yield { of: 'exit', code: codeOf(reader.value()) };
  }
}

function codeOf(exit: Uint8Array): number {
  const reader = new WireReader(Buffer.from(exit));
  while (reader.next()) if (reader.number === 1) return reader.number32() | 0;
  return 0;
}

/** The end of a command: as a Status, and for old clients as a sentence, empty where all went well. */
export interface Outcome {
  readonly status: object;
  readonly text: string;
}

/** How a command ended, as Kubernetes' clients read it from the error channel: an exit code, or what went wrong. */
export function outcomeOf(exitCode: number, error?: ApiError): Outcome {
  if (error) return { status: statusOf(error), text: error.message };
  if (exitCode === 0) return { status: { metadata: {}, status: 'Success' }, text: '' };
  const message = `command terminated with non-zero exit code: exit status ${exitCode}`;
  const causes = [{ reason: 'ExitCode', message: String(exitCode) }];
  return {
    status: { metadata: {}, status: 'Failure', message, reason: 'NonZeroExitCode', details: { causes } },
    text: message,
  };
}
