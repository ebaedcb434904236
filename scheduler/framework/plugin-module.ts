import type { Shape } from '../config/shape.ts';
import type { AnyPlugin } from './plugin.ts';

/**
 * The version of what plugins and the scheduler expect of each other: the contract in plugin.ts, the node table that
 * plugins read, and the form of a module of plugins. Grows when a plugin that was written for the version before could
 * go wrong without a word.
 */
export const pluginContract = 1;

/**
 * Creates a plugin that profiles name. `A` is the type of its arguments, `S` of what only Berth's own plugins get
 * besides.
 */
export interface PluginFactory<A = unknown, S = void> {
  /** The name in configurations, in events and in `why`; that of the plugin, too. */
  readonly name: string;
  /** What its score weighs in a profile that does not say. Default 1 for a plugin that scores. */
  readonly weight?: number;
  /** The form of its arguments; without it, it takes none. */
  readonly args?: Shape<A>;
  /**
   * Makes the plugin for one profile. Called for each profile that has it whenever the scheduler begins, and once more
   * when the configuration is checked; so it does nothing but make a value. Throws an Error that says what is wrong
   * with the arguments where their form cannot.
   */
  create(args: A, sources: S): AnyPlugin;
}

/** What the default export of a user's module is. */
export interface PluginModule {
  readonly contract: number;
  readonly plugins: readonly PluginFactory[];
}

/** Gives a factory its type, so that arguments and their form are checked against each other where it is written. */
export function pluginFactory<A = undefined>(factory: PluginFactory<A>): PluginFactory<A> {
  return factory;
}

/** What a module exports by default: its plugins, and which contract they were written for. */
export function definePlugins(plugins: readonly PluginFactory[]): PluginModule {
  return { contract: pluginContract, plugins };
}
