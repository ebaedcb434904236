import type { PodAttachRequest, PodAttachResponse, PodExecRequest, PodExecResponse } from '../../api/generated/types.ts';
import type { Duplex } from '../connection/duplex.ts';
import type { AttachStream, ExecOutput } from './pod-streams.ts';

/** What happens to a session besides its output. */
export interface SessionEnd<Res> {
  onFrame?(frame: Res): void;
  /** `output` is over: with the error, or without one when the server ended it. Called again when the loop was left. */
  onEnd?(error?: unknown): void;
}

/** The client's side of an exec or an attach, whose frames are alike. */
export function createTerminalStream<
  Req extends PodExecRequest | PodAttachRequest,
  Res extends PodExecResponse | PodAttachResponse,
>(duplex: Duplex<Req, Res>, start: NonNullable<Req['start']>, { onFrame, onEnd }: SessionEnd<Res> = {}): AttachStream {
  const frame = (content: PodAttachRequest): Req => content as Req;
  const started = duplex.write({ start } as Req);
  started.catch(() => {});
  /** Frames that need no answer; a call that is over tells so in `output`. */
  const send = (content: PodAttachRequest) => void duplex.write(frame(content)).catch(() => {});

  async function* output(): AsyncGenerator<ExecOutput> {
    try {
      for await (const message of duplex.messages()) {
        if (message.stdout) yield { stream: 'stdout', data: message.stdout };
        else if (message.stderr) yield { stream: 'stderr', data: message.stderr };
        else onFrame?.(message);
      }
      onEnd?.();
    } catch (error) {
      onEnd?.(error);
      throw error;
    } finally {
      duplex.cancel();
    }
  }

  return {
    async write(data) {
      await started;
      await duplex.write(frame({ stdin: asBuffer(data) }));
    },
    closeInput: () => send({ stdinClose: {} }),
    resize: (width, height) => send({ resize: { width, height } }),
    output,
    close: () => duplex.cancel(),
  };
}

/** The same bytes, not copied. */
export function asBuffer(data: Uint8Array): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
