import { asApiError, badRequest, internal } from '../../../api/errors/index.ts';
import { type AttachStart, attach, type ExecStart, exec, type InputCarriage } from '../../tunnel/carriages.ts';
import { authorizeStream, joinStream, openStream, type StreamDeps } from '../../tunnel/carry.ts';
import { flag } from '../read-query.ts';
import type { ResourceRequest } from '../resource-routes.ts';
import { requireContainer } from './choose-container.ts';
import { outcomeOf, outputsOf } from './command-frames.ts';
import type { CommandPeer, CommandStreams } from './command-peer.ts';
import { checkSpdyProtocols, openSpdyCommand } from './spdy/spdy-command.ts';
import type { StreamRoute, StreamWay } from './stream-route.ts';
import type { Upgrade } from './upgrade.ts';
import { checkProtocols, openWebSocket } from './web-socket.ts';

type Start = ExecStart | AttachStart;

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

async function runCommand(
  deps: StreamDeps,
  carriage: InputCarriage<Start>,
  start: Start,
  { upgrade, context }: StreamWay,
): Promise<void> {
  const isSpdy = upgrade?.protocol === 'spdy/3.1';
  if (!upgrade || (!isSpdy && upgrade.protocol !== 'websocket'))
    throw badRequest('Upgrade request required: send "Connection: Upgrade" and "Upgrade: websocket" or "Upgrade: SPDY/3.1"');
  if (isSpdy) checkSpdyProtocols(upgrade);
  else checkProtocols(upgrade);
  const { stdin = false, stdout = false, stderr = false, tty = false } = start.options ?? {};
  const open = isSpdy ? openSpdyCommand : beginWebSocket;
  const { stream } = await openStream(deps, carriage, { start, context, choose: requireContainer });
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

async function beginWebSocket(upgrade: Upgrade, _wanted: CommandStreams, signal: AbortSignal): Promise<CommandPeer> {
  const peer = await openWebSocket(upgrade, signal);
  // Clients take the first message, though it is empty, for the beginning.
  await peer.send('stdout', Buffer.alloc(0));
  return peer;
}
