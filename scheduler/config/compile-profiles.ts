import { isDeepStrictEqual } from 'node:util';
import { JsonReader } from '../../api/codec/json-reader.ts';
import { defaultSchedulerName } from '../../api/meta/well-known.ts';
import type { AnyPlugin } from '../framework/plugin.ts';
import { ownPlugins, type PlannedPlugin, type ProfileFactory, type ProfilePlan, type ProfileSources } from '../profile.ts';
import type { ProfileForm } from './form.ts';
import { wordKnown } from './shape.ts';

/** Every plugin that a profile may name, and of users' the module that it comes from. */
export interface KnownPlugins {
  readonly factories: ReadonlyMap<string, ProfileFactory>;
  readonly modules: ReadonlyMap<string, string>;
  /** False when a module cannot be used: an unknown name may be one of its plugins. */
  readonly isComplete: boolean;
}

/** What a profile's plugin comes from: an entry of `enabled` (by number), one of `pluginConfig`, or neither. */
interface Chosen extends PlannedPlugin {
  readonly entry: number | undefined;
  readonly config: number | undefined;
}

interface Compiling {
  readonly known: KnownPlugins;
  readonly at: JsonReader;
}

/** Names that Kubernetes' users know, and what Berth has instead. */
const elsewhere: Readonly<Record<string, string>> = {
  NodeResourcesBalancedAllocation: 'here it is NodeResourcesBalanced',
  SchedulingGates: 'scheduling gates hold in every profile, without a plugin',
  VolumeRestrictions: 'VolumeBinding does this',
  VolumeZone: 'VolumeBinding does this',
};

/**
 * Kubernetes' rules for sets of plugins: Berth's own are in every profile, in their order, but for those that it
 * disables; what it enables takes the place of one of the same name that is still there, or comes after them. Tells
 * `at` what is wrong; what it answers is of use when that is nothing. A profile that is undefined has not the right
 * form, which has been told.
 */
export function compileProfiles(forms: readonly (ProfileForm | undefined)[], known: KnownPlugins, at: JsonReader): ProfilePlan[] {
  const names: string[] = [];
  const plans: ProfilePlan[] = [];
  let first: Ordering | undefined;
  const compile = (form: ProfileForm): void => {
    const schedulerName = compileName(form, names, forms.length, at);
    const chosen = choosePlugins(form, { known, at });
    const ordering = checkPlugins(chosen, { known, at });
    if (ordering && first && !isDeepStrictEqual(ordering, first)) at.refuse(differently(first), 'plugins');
    first ??= ordering;
    names.push(schedulerName);
    plans.push({ schedulerName, plugins: chosen.map(({ factory, args, weight }) => ({ factory, args, weight })) });
  };
  at.within('profiles', forms, () => {
    for (const [index, form] of forms.entries()) if (form) at.within(index, form, compile);
  });
  return plans;
}

/** The plugin of a profile that orders the queue. */
interface Ordering {
  readonly name: string;
  readonly args: unknown;
}

const differently = ({ name }: Ordering): string =>
  `orders the queue in another way than the first profile: there is one queue, so all profiles need ${name} with the same arguments`;

function compileName({ schedulerName }: ProfileForm, before: readonly string[], count: number, at: JsonReader): string {
  if (schedulerName === undefined && count > 1) at.refuse('is required where there are several profiles', 'schedulerName');
  const same = schedulerName === undefined ? -1 : before.indexOf(schedulerName);
  if (same >= 0) at.refuse(`"${schedulerName}" is the name of profiles[${same}] already`, 'schedulerName');
  return schedulerName ?? defaultSchedulerName;
}

function choosePlugins(
  { plugins: { enabled = [], disabled = [] } = {}, pluginConfig = [] }: ProfileForm,
  compiling: Compiling,
): Chosen[] {
  const { known, at } = compiling;
  const own = ownPlugins.map(({ name }) => name);
  const refuse =
    (...steps: string[]) =>
    (why: string, index: number) =>
      at.refuse(why, ...steps, index, 'name');
  checkNames(disabled, (name) => (name === '*' ? undefined : notOwn(name, own, known)), refuse('plugins', 'disabled'));
  checkNames(enabled, (name) => unknownPlugin(name, known), refuse('plugins', 'enabled'));
  const off = new Set(disabled.map(({ name }) => name));
  const kept = off.has('*') ? [] : ownPlugins.filter(({ name }) => !off.has(name));
  const order = [...new Set([...kept.map(({ name }) => name), ...enabled.map(({ name }) => name)])];
  const present = order.flatMap((name) => known.factories.get(name) ?? []);
  const isAbsent = (name: string) =>
    unknownPlugin(name, known) ?? (known.factories.has(name) ? `"${name}" is not among the plugins of this profile` : undefined);
  checkNames(pluginConfig, (name) => (order.includes(name) ? undefined : isAbsent(name)), refuse('pluginConfig'));
  return present.map((factory) => {
    const entry = indexOf(enabled, factory.name);
    const config = indexOf(pluginConfig, factory.name);
    const given = config === undefined ? undefined : pluginConfig[config]!.args;
    const args = config === undefined ? withoutArgs(factory, entry, compiling) : readArgs(factory, config, given, compiling);
    return { factory, args, weight: entry === undefined ? undefined : enabled[entry]!.weight, entry, config };
  });
}

/** Each name of a list once, and none of which `wrong` says something. */
function checkNames(
  entries: readonly { readonly name: string }[],
  wrong: (name: string) => string | undefined,
  refuse: (why: string, index: number) => unknown,
): void {
  for (const [index, { name }] of entries.entries()) {
    const why = entries.findIndex((other) => other.name === name) < index ? `"${name}" stands here twice` : wrong(name);
    if (why !== undefined) refuse(why, index);
  }
}

function unknownPlugin(name: string, { factories, isComplete }: KnownPlugins): string | undefined {
  if (factories.has(name) || !isComplete) return undefined;
  const hint = Object.hasOwn(elsewhere, name) ? `; ${elsewhere[name]}` : wordKnown(name, [...factories.keys()]);
  return `unknown plugin "${name}"${hint}`;
}

function notOwn(name: string, own: readonly string[], known: KnownPlugins): string | undefined {
  if (own.includes(name)) return undefined;
  const module = known.modules.get(name);
  if (module === undefined) return unknownPlugin(name, known);
  return `"${name}" of module "${module}" is not there unless it is enabled`;
}

function indexOf(entries: readonly { readonly name: string }[], name: string): number | undefined {
  const index = entries.findIndex((each) => each.name === name);
  return index < 0 ? undefined : index;
}

function readArgs({ name, args: shape }: ProfileFactory, config: number, given: unknown, { at }: Compiling): unknown {
  const value = given ?? {};
  if (!shape && !isDeepStrictEqual(value, {})) return at.refuse(`${name} takes no arguments`, ...placeOf({ config }));
  const read = () => at.within(config, value, () => at.within('args', value, () => shape?.read(value, at)));
  return at.within('pluginConfig', value, read);
}

/** What a plugin needs that has been told nothing. */
function withoutArgs({ args: shape, name }: ProfileFactory, entry: number | undefined, { at }: Compiling): unknown {
  const own = new JsonReader();
  const args = shape?.read({}, own);
  const why = own.violations.map(({ field, description }) => `${field} ${description}`).join(', ');
  if (why !== '') at.refuse(`${name} needs arguments in pluginConfig: ${why}`, ...placeOf({ entry }));
  return args;
}

/** Where a profile says that it has the plugin, or that it has plugins at all. */
function placeOf({ entry, config }: Partial<Pick<Chosen, 'entry' | 'config'>>): (string | number)[] {
  if (config !== undefined) return ['pluginConfig', config, 'args'];
  return entry === undefined ? ['plugins'] : ['plugins', 'enabled', entry];
}

/**
 * Makes the plugins once, to see what they do; nothing comes of it. Answers how the queue is ordered, if that is clear.
 */
function checkPlugins(chosen: readonly Chosen[], { known, at }: Compiling): Ordering | undefined {
  const before = at.violations.length;
  const made = chosen.flatMap((each) => {
    const plugin = makeOnce(each, known, at);
    if (plugin && !plugin.score && (each.weight ?? 0) > 0)
      at.refuse(`${plugin.name} scores nothing: leave it out`, ...placeOf({ entry: each.entry }), 'weight');
    return plugin ? [{ ...each, plugin }] : [];
  });
  // What is missing may be what could not be made.
  if (!known.isComplete || (at.violations.length > before && made.length < chosen.length)) return undefined;
  const refuse = (why: string) => void at.refuse(why, 'plugins');
  const ordering = made.filter(({ plugin }) => plugin.queueOrder);
  if (ordering.length === 0) refuse('no plugin orders the queue: enable PrioritySort');
  if (ordering.length > 1) refuse(`${wordNames(ordering)} order the queue, and one must: disable the others`);
  checkBinding(made, refuse);
  const [only] = ordering;
  return only && ordering.length === 1 ? { name: only.factory.name, args: only.args } : undefined;
}

function checkBinding(made: readonly (Chosen & { readonly plugin: AnyPlugin })[], refuse: (why: string) => void): void {
  const binding = made.filter(({ plugin }) => plugin.bind);
  if (binding.length === 0) refuse('no plugin binds pods: enable DefaultBinder');
  const last = binding.findIndex(({ factory }) => factory.name === 'DefaultBinder');
  if (last < 0 || last === binding.length - 1) return;
  const late = wordNames(binding.slice(last + 1));
  refuse(`${late} would never bind a pod, because DefaultBinder stands before: disable that, and enable it again at the end`);
}

function wordNames(made: readonly Chosen[]): string {
  return made.map(({ factory }) => factory.name).join(' and ');
}

const nowhere: ProfileSources = { bind: { name: 'DefaultBinder', bind: async () => 'pass' } };

function makeOnce({ factory, args, ...place }: Chosen, { modules }: KnownPlugins, at: JsonReader): AnyPlugin | undefined {
  // What is wrong with its arguments has been told.
  if (args === undefined && factory.args) return undefined;
  try {
    return factory.create(args, nowhere);
  } catch (error) {
    const module = modules.get(factory.name);
    const whose = module === undefined ? '' : ` of module "${module}"`;
    const why = error instanceof Error ? error.message : String(error);
    return at.refuse(`plugin "${factory.name}"${whose} cannot be made: ${why}`, ...placeOf(place));
  }
}
