import type { HTTPGetAction, LifecycleHandler } from '../../api/generated/types.ts';
import { type Clock, pause } from '../../client/clock.ts';
import type { CommandRunner } from '../runtime/runtime.ts';
import { type CheckTarget, portOf } from './check.ts';
import { urlOf, wordsOf } from './check-http.ts';
import { codeOf } from './dial-words.ts';
import { get } from './http-get.ts';

export interface HandlerOptions {
  readonly commands: CommandRunner;
  readonly clock: Clock;
  readonly maxBytes: number;
}

/** Why a hook failed: a reason that gives nothing away, and what it said. */
export interface HookFailure {
  readonly reason: string;
  readonly output: string;
}

/** Does what a hook says, once. The signal is its only bound; never throws. */
export async function runHandler(
  options: HandlerOptions,
  handler: LifecycleHandler,
  target: CheckTarget,
  signal: AbortSignal,
): Promise<'done' | HookFailure> {
  try {
    return await run(options, handler, target, signal);
  } catch (error) {
    // A host that is none, and whatever else libraries refuse to do: it must not end the agent.
    return { reason: 'it could not be run', output: error instanceof Error ? error.message : String(error) };
  }
}

async function run(
  options: HandlerOptions,
  { exec, httpGet, sleep }: LifecycleHandler,
  target: CheckTarget,
  signal: AbortSignal,
): Promise<'done' | HookFailure> {
  if (exec !== undefined) return runCommand(options, exec.command ?? [], target, signal);
  if (httpGet !== undefined) return ask(options, httpGet, target, signal);
  if (sleep === undefined) return { reason: 'it is none of exec, httpGet and sleep', output: '' };
  await pause((sleep.seconds ?? 0) * 1000, signal, options.clock);
  return 'done';
}

async function runCommand(
  { commands, maxBytes }: HandlerOptions,
  command: readonly string[],
  { containerId }: CheckTarget,
  signal: AbortSignal,
): Promise<'done' | HookFailure> {
  const result = await commands.run(containerId, command, { timeoutMs: undefined, maxBytes }, signal);
  if (result.type === 'succeeded') return 'done';
  const code = result.type === 'failed' ? result.exitCode : 'no code';
  return { reason: `the command exited with ${code}`, output: result.output };
}

/** Any response counts as success. */
async function ask(
  options: HandlerOptions,
  action: HTTPGetAction,
  target: CheckTarget,
  signal: AbortSignal,
): Promise<'done' | HookFailure> {
  const port = portOf(action, target.container);
  if (typeof port !== 'number') return { reason: port.problem, output: '' };
  const url = urlOf(action, { host: action.host || target.podIP, port });
  try {
    await get(url, action.httpHeaders ?? [], signal, options.maxBytes);
    return 'done';
  } catch (error) {
    // As kubelet: a hook that says HTTPS to a server without is asked again without,
    // since older versions did not look at the scheme.
    if (url.protocol === 'https:' && speaksNoTls(error)) return ask(options, { ...action, scheme: 'HTTP' }, target, signal);
    const reason = wordsOf(error, url);
    return { reason, output: reason };
  }
}

function speaksNoTls(error: unknown): boolean {
  const code = codeOf(error) ?? '';
  return code === 'EPROTO' || code.startsWith('ERR_SSL_');
}
