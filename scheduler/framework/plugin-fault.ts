import type { AnyPlugin } from './plugin.ts';

/** A plugin did what no plugin may: it threw, answered nonsense or never answered. Fails the attempt, never the scheduler. */
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

/** Calls a plugin; whatever it throws comes out as its fault. */
export function guard<R>(plugin: Pick<AnyPlugin, 'name'>, point: string, call: () => R): R {
  try {
    return call();
  } catch (error) {
    if (error instanceof PluginFault) throw error;
    throw new PluginFault(plugin.name, point, error);
  }
}
