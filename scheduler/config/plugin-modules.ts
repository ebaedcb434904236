import { describeJson, JsonReader } from '../../api/codec/json-reader.ts';
import { callLimitMs, withinLimit } from '../framework/call-limit.ts';
import { checkedPlugin, pluginError } from '../framework/checked-plugin.ts';
import type { AnyPlugin } from '../framework/plugin.ts';
import { type PluginFactory, pluginContract } from '../framework/plugin-module.ts';
import { mostWeight, type ProfileFactory } from '../profile.ts';
import type { Shape } from './shape.ts';

/** Imports a module for the configuration file `from`; see load-module.ts. */
export type ImportModule = (specifier: string, from: string) => Promise<Readonly<Record<string, unknown>>>;

/** The plugins of a user's module, ready for profiles. Throws an Error that says what is wrong with the module. */
export function factoriesOf(module: Readonly<Record<string, unknown>>): ProfileFactory[] {
  const { contract, plugins } = (module.default ?? module) as Readonly<Record<string, unknown>>;
  if (contract === undefined && plugins === undefined)
    throw new Error('exports no plugins: its default export must be what definePlugins of "berth/scheduler" returns');
  if (contract !== pluginContract)
    throw new Error(
      `is written for contract ${String(contract)} of "berth/scheduler", and this Berth has contract ${pluginContract}: take versions of the two that fit`,
    );
  if (!Array.isArray(plugins) || plugins.length === 0)
    throw new Error('exports no plugins: its list of plugins is empty or none');
  return plugins.map(factoryOf);
}

function factoryOf(given: unknown, index: number): ProfileFactory {
  const factory = (typeof given === 'object' && given !== null ? given : {}) as Partial<PluginFactory>;
  const { name, args, weight } = factory;
  if (typeof name !== 'string' || !/^\S+$/.test(name))
    throw new Error(`its plugin ${index + 1} has the name ${describeJson(name ?? null)}; a name is a word such as "RackSpace"`);
  const refuse = (why: string): Error => new Error(`its plugin "${name}" ${why}`);
  if (typeof factory.create !== 'function') throw refuse('has no function "create"');
  if (args !== undefined && typeof args?.read !== 'function') throw refuse('has "args" that are no shape such as record({})');
  if (weight !== undefined && !isWeight(weight))
    throw refuse(`has the weight ${String(weight)}, no whole number from 0 to ${mostWeight}`);
  return {
    name,
    ...(weight === undefined ? {} : { weight }),
    ...(args === undefined ? {} : { args: guarded(args) }),
    create(given): AnyPlugin {
      const made: unknown = withinLimit(() => factory.create!(given), callLimitMs);
      const wrong = pluginError(made, name);
      if (wrong !== undefined) throw new Error(wrong);
      return checkedPlugin(made as AnyPlugin);
    },
  };
}

/** A form that throws refuses the arguments; the position of its reader is unknown then. */
function guarded(shape: Shape<unknown>): Shape<unknown> {
  return {
    read(value, at) {
      const own = new JsonReader();
      try {
        const found = withinLimit(() => shape.read(value, own), callLimitMs);
        for (const { field, description } of own.violations) at.refuse(description, ...(field === '' ? [] : [field]));
        return found;
      } catch (error) {
        return at.refuse(`cannot be read: ${error instanceof Error ? error.message : String(error)}`);
      }
    },
  };
}

function isWeight(weight: unknown): boolean {
  return Number.isInteger(weight) && (weight as number) >= 0 && (weight as number) <= mostWeight;
}
