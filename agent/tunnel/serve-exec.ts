import { badRequest } from '../../api/errors/index.ts';
import type { PodExecOptions } from '../../api/generated/types.ts';
import type { TunnelStream } from '../../client/client.ts';
import type { PodRecord } from '../pod/pod-record.ts';
import type { ContainerAccess, ExecSession } from '../runtime/runtime.ts';
import { chooseForExec } from './choose-container.ts';

export interface ExecRequest {
  readonly access: ContainerAccess;
  readonly record: PodRecord;
  readonly options: PodExecOptions;
}

/** Runs a command, its input and output no faster than the other side. Throws ApiError or RuntimeError. */
export async function serveExec(
  { access, record, options }: ExecRequest,
  stream: TunnelStream,
  signal: AbortSignal,
): Promise<void> {
  const command = options.command ?? [];
  if (command.length === 0) throw badRequest('exec needs a command');
  const container = chooseForExec(record, options.container);
  const session = await access.exec(container.id, { command, tty: options.tty === true, stdin: options.stdin === true }, signal);
  try {
    // Ends by itself when the stream does; what goes wrong with the input is not the output's affair.
    void forwardInput(session, stream).catch(() => {});
    for await (const { stream: name, data } of session.output()) {
      const piece = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
      await stream.write({ exec: name === 'stderr' ? { stderr: piece } : { stdout: piece } });
    }
    await stream.write({ exec: { exit: { code: await session.exitCode() } } });
  } finally {
    session.close();
  }
}

async function forwardInput(session: ExecSession, stream: TunnelStream): Promise<void> {
  for await (const { stdin, stdinClose, resize } of stream.input()) {
    if (stdin !== undefined) await session.write(stdin);
    if (stdinClose !== undefined) await session.closeInput();
    if (resize !== undefined) await session.resize(resize.width ?? 0, resize.height ?? 0);
  }
}
