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
