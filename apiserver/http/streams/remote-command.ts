import { asApiError, badRequest, internal } from '../../../api/errors/index.ts';
import type { Pod } from '../../../api/generated/types.ts';
import { type AttachStart, attach, type ExecStart, exec, type InputCarriage } from '../../tunnel/carriages.ts';
import { authorizeStream, joinStream, openStream, type StreamDeps } from '../../tunnel/carry.ts';
import { awaitFirstFrame } from '../../tunnel/forward.ts';
import type { ContainerChoice } from '../../tunnel/stream-target.ts';
import type { ServedStream } from '../../tunnel/tunnels.ts';
import type { CallContext } from '../../verbs/call-context.ts';
import { flag } from '../requests/read-query.ts';
import type { ResourceRequest } from '../resource-routes.ts';
import { isToldToRun, rejectUnassigned, requireContainer } from './choose-container.ts';
import { outcomeOf, outputsOf } from './command-frames.ts';
import { checkSpdyProtocols, openSpdyCommand } from './spdy/spdy-command.ts';
import type { StreamRoute, StreamWay } from './stream-route.ts';
import { requireUpgrade } from './upgrade.ts';
import { checkWebSocketProtocols, openWebSocketCommand } from './web-socket-command.ts';

type Start = ExecStart | AttachStart;

/** How long an agent may take to refuse a container that does not seem to run. */
const refusalMs = 1_000;

/** .../pods/NAME/exec and .../pods/NAME/attach. */
export function commandRoute({ target, query, store }: ResourceRequest, deps: StreamDeps): StreamRoute {
  const { namespace, name, subresource } = target;
  const carriage = (subresource === 'exec' ? exec : attach) as InputCarriage<Start>;
  return {
    of: 'stream',
    method: `/${store.kind.service}/${carriage.method}`,
    prepare(context) {
      const start = { namespace, name, options: optionsOf(query, carriage.method) } as Start;
      authorizeStream(carriage, start, context);
      checkStreams(start);
      return { run: (way) => runCommand(deps, carriage, start, way) };
    },
  };
}

function optionsOf(query: URLSearchParams, method: string): NonNullable<ExecStart['options']> {
  const [stdin, stdout, stderr, tty] = ['stdin', 'stdout', 'stderr', 'tty'].map((name) => flag(query, name) === true);
  const container = query.get('container') || undefined;
  const options = { stdin: stdin!, stdout: stdout!, stderr: stderr!, tty: tty!, ...(container !== undefined && { container }) };
  return method === 'Exec' ? { ...options, command: query.getAll('command') } : options;
}

function checkStreams({ options = {} }: Start): void {
  if (!options.stdin && !options.stdout && !options.stderr)
    throw badRequest('you must specify at least 1 of stdin, stdout, stderr');
  // A terminal has one output.
  if (options.tty && options.stderr) options.stderr = false;
}

/**
 * Opens the agent's stream. Where the container does not seem to run the agent is about to say so, and the client
 * should learn it as the answer to its request.
 */
async function openCommand(
  deps: StreamDeps,
  carriage: InputCarriage<Start>,
  start: Start,
  context: CallContext,
): Promise<ServedStream> {
  let seemsToRun = true;
  const choose = (pod: Pod, wanted: string | undefined): ContainerChoice => {
    const choice = requireContainer(pod, wanted);
    seemsToRun = isToldToRun(pod, choice.container);
    return choice;
  };
  const { stream } = await openStream(deps, carriage, { start, context, choose }).catch(rejectUnassigned);
  if (seemsToRun) return stream;
  try {
    return await awaitFirstFrame(stream, refusalMs, context.signal);
  } catch (error) {
    stream.close();
    throw error;
  }
}

async function runCommand(
  deps: StreamDeps,
  carriage: InputCarriage<Start>,
  start: Start,
  { upgrade: asked, context }: StreamWay,
): Promise<void> {
  const upgrade = requireUpgrade(asked);
  if (upgrade.isSpdy) checkSpdyProtocols(upgrade);
  else checkWebSocketProtocols(upgrade);
  const { stdin = false, stdout = false, stderr = false, tty = false } = start.options ?? {};
  const open = upgrade.isSpdy ? openSpdyCommand : openWebSocketCommand;
  const stream = await openCommand(deps, carriage, start, context);
  const wanted = { stdin, stdout, stderr, tty };
  const peer = await open(upgrade, wanted, context.signal).catch((error: unknown) => {
    stream.close();
    throw error;
  });
  let exitCode = 0;
  const send = async (frame: Buffer): Promise<void> => {
    for (const output of outputsOf(frame, carriage === exec))
      if (output.of === 'exit') exitCode = output.code;
      else await peer.send(output.of, output.bytes);
  };
  try {
    await joinStream(stream, carriage, { input: peer.input, send }, context.signal);
    peer.end(outcomeOf(exitCode));
  } catch (error) {
    peer.end(outcomeOf(exitCode, asApiError(error) ?? internal('the stream failed by a fault of the server')));
    throw error;
  }
}
