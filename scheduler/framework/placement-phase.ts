import type { Profile } from '../profile.ts';
import type { Participant } from './judge.ts';
import type { AnyPlugin, Attempt, Placement, Rejection, Undo } from './plugin.ts';
import { asRejection, guard, PluginFault } from './plugin-fault.ts';

export type Reservation =
  | { readonly kind: 'reserved'; readonly undo: Undo }
  | { readonly kind: 'refused'; readonly plugin: string; readonly rejection: Rejection };

/**
 * Lets every plugin reserve what it needs, in profile order. Undo takes everything back in reverse order, once, and
 * goes on when one undo throws; the first error is thrown when all have run. A refusal or a fault has already been
 * undone.
 */
export function reserveAll(participants: readonly Participant[], attempt: Attempt, nodeName: string): Reservation {
  const undos: { plugin: AnyPlugin; undo: Undo }[] = [];
  const undo = () => undoAll(undos.splice(0).reverse());
  for (const { plugin, state } of participants) {
    if (!plugin.reserve) continue;
    try {
      const answer = guard(plugin, 'reserve', () => plugin.reserve!(state, attempt, nodeName));
      if (typeof answer !== 'function') {
        const rejection = asRejection(plugin, 'reserve', answer);
        undo();
        return { kind: 'refused', plugin: plugin.name, rejection };
      }
      undos.push({ plugin, undo: answer });
    } catch (error) {
      undo();
      throw error;
    }
  }
  return { kind: 'reserved', undo };
}

function undoAll(undos: readonly { plugin: AnyPlugin; undo: Undo }[]): void {
  const faults: PluginFault[] = [];
  for (const { plugin, undo } of undos) {
    try {
      guard(plugin, 'undo of reserve', undo);
    } catch (error) {
      faults.push(error as PluginFault);
    }
  }
  if (faults[0]) throw faults[0];
}

export interface BindOptions {
  readonly profile: Profile;
  /** The plugins that took part in the attempt. */
  readonly participants: readonly Pick<Participant, 'plugin'>[];
  /** How long one plugin may take at one point. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export type BindOutcome =
  | { readonly kind: 'bound' }
  | { readonly kind: 'refused'; readonly plugin: string; readonly rejection: Rejection };

/**
 * Permit and bind, each through all plugins of the profile, and between them pre-bind through those that took part.
 * Throws PluginFault, with the plugin's own error as its cause.
 */
export async function bindPlacement(placement: Placement, options: BindOptions): Promise<BindOutcome> {
  const { profile, participants, timeoutMs, signal } = options;
  const call = <R>(plugin: AnyPlugin, point: string, run: (signal: AbortSignal) => Promise<R>) =>
    limited({ plugin, point, timeoutMs, signal }, run);
  for (const { plugin } of profile.plugins) {
    if (!plugin.permit) continue;
    const rejection = await call(plugin, 'permit', (limit) => plugin.permit!(placement, limit));
    if (rejection !== undefined)
      return { kind: 'refused', plugin: plugin.name, rejection: asRejection(plugin, 'permit', rejection) };
  }
  for (const { plugin } of participants) {
    if (!plugin.preBind) continue;
    const rejection = await call(plugin, 'preBind', (limit) => plugin.preBind!(placement, limit));
    if (rejection !== undefined)
      return { kind: 'refused', plugin: plugin.name, rejection: asRejection(plugin, 'preBind', rejection) };
  }
  for (const { plugin } of profile.plugins) {
    if (!plugin.bind) continue;
    const answer = await call(plugin, 'bind', (limit) => plugin.bind!(placement, limit));
    if (answer === 'bound') return { kind: 'bound' };
    if (answer !== 'pass') throw new PluginFault(plugin.name, 'bind', `${String(answer)} is neither "bound" nor "pass"`);
  }
  throw new PluginFault('', 'bind', 'no plugin of the profile bound the pod');
}

interface Limit {
  readonly plugin: AnyPlugin;
  readonly point: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Ends with a fault at the latest after `timeoutMs`, whether or not the plugin minds its signal. */
async function limited<R>({ plugin, point, timeoutMs, signal }: Limit, run: (signal: AbortSignal) => Promise<R>): Promise<R> {
  const controller = new AbortController();
  let end: (why: string) => void = () => {};
  const ended = new Promise<never>((_, reject) => {
    end = (why) => {
      controller.abort();
      reject(new PluginFault(plugin.name, point, why));
    };
  });
  ended.catch(() => {});
  const onAbort = () => end('the scheduler stops');
  const timer = setTimeout(() => end(`no answer after ${timeoutMs} ms`), timeoutMs);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    return await Promise.race([guard(plugin, point, () => run(controller.signal)), ended]);
  } catch (error) {
    throw error instanceof PluginFault ? error : new PluginFault(plugin.name, point, error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
