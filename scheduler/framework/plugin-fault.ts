import { inspect } from 'node:util';
import { withinLimit } from './call-limit.ts';
import type { AnyPlugin, Rejection } from './plugin.ts';

/**
 * A plugin did what no plugin may: it threw, answered nonsense or never answered. Fails the attempt,
 * never the scheduler.
 */
export class PluginFault extends Error {
  readonly plugin: string;
  readonly point: string;

  constructor(plugin: string, point: string, cause: unknown) {
    super(`plugin "${plugin}" failed in ${point}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = 'PluginFault';
    this.plugin = plugin;
    this.point = point;
  }
}

/**
 * Calls a plugin; whatever it throws comes out as its fault, and so does a user's plugin that does not come to an end.
 */
export function guard<R>(plugin: Pick<AnyPlugin, 'name' | 'callLimitMs'>, point: string, call: () => R): R {
  try {
    return plugin.callLimitMs === undefined ? call() : withinLimit(call, plugin.callLimitMs);
  } catch (error) {
    if (error instanceof PluginFault) throw error;
    throw new PluginFault(plugin.name, point, error);
  }
}

/**
 * What a filter, a reservation or a permission answered, if it is a rejection;
 * plugins of users need not be written in TypeScript.
 */
export function asRejection({ name }: Pick<AnyPlugin, 'name'>, point: string, answer: Rejection): Rejection {
  const { kind, reason, wakeOn } = answer ?? {};
  if (kind === 'reject' && typeof reason === 'string' && Array.isArray(wakeOn)) return answer;
  throw new PluginFault(name, point, `${inspect(answer, { depth: 0, breakLength: Number.POSITIVE_INFINITY })} is no answer`);
}
