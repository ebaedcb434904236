import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { JsonReader } from '../../api/codec/json-reader.ts';
import { maxSettingsBytes, settingsText } from '../../api/codec/settings-text.ts';
import { parseSettings } from '../../api/codec/yaml-settings.ts';
import { ownPlugins, type ProfilePlan } from '../profile.ts';
import { compileProfiles, type KnownPlugins } from './compile-profiles.ts';
import { ConfigurationError } from './config-error.ts';
import { configurationForm, readableParts } from './form.ts';
import { importBeside } from './load-module.ts';
import { factoriesOf, type ImportModule } from './plugin-modules.ts';

/**
 * Reads a file of profiles, and imports the modules that it names. Everything that is wrong with it is told together,
 * as far as it can be judged: what plugins there are is known only when all modules are there, and of a profile that
 * has not the right form nothing more. Throws ConfigurationError, and an Error when there is no file.
 */
export async function readSchedulerConfig(
  file: string,
  importModule: ImportModule = importBeside,
): Promise<readonly ProfilePlan[]> {
  const settings = parseSettings(await readText(file));
  if (settings.kind === 'unreadable') throw new ConfigurationError(file, settings.problems);
  const at = new JsonReader();
  const form = configurationForm.read(settings.value, at);
  const { pluginModules = [], profiles } = form ?? readableParts(settings.value);
  const known = await importAll(pluginModules, { at, from: resolve(file), importModule });
  const plans = compileProfiles(profiles, known, at);
  if (at.violations.length === 0) return plans;
  const problems = at.violations.map(({ field, description }) => ({
    place: settings.place(field),
    path: field,
    reason: description,
  }));
  throw new ConfigurationError(file, problems);
}

async function readText(file: string): Promise<string> {
  try {
    return await settingsText(createReadStream(file, { end: maxSettingsBytes }));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'it is a folder' : message;
    throw new Error(`cannot read the scheduler's configuration ${file}: ${why}`);
  }
}

interface Importing {
  readonly at: JsonReader;
  /** The configuration, from whose folder modules are found. */
  readonly from: string;
  readonly importModule: ImportModule;
}

/** A module that is undefined cannot be read, which has been told. */
async function importAll(
  pluginModules: readonly (string | undefined)[],
  { at, from, importModule }: Importing,
): Promise<KnownPlugins> {
  const factories = new Map(ownPlugins.map((factory) => [factory.name, factory]));
  const modules = new Map<string, string>();
  let isComplete = true;
  for (const [index, specifier] of pluginModules.entries()) {
    if (specifier === undefined) {
      isComplete = false;
      continue;
    }
    try {
      for (const factory of factoriesOf(await importModule(specifier, from))) {
        const { name } = factory;
        const owner = modules.get(name);
        if (owner !== undefined) throw new Error(`its plugin "${name}" has the name of one of module "${owner}"`);
        if (factories.has(name)) throw new Error(`its plugin "${name}" has the name of one of Berth's own`);
        factories.set(name, factory);
        modules.set(name, specifier);
      }
    } catch (error) {
      isComplete = false;
      at.refuse(`module "${specifier}": ${(error as Error).message}`, 'pluginModules', index);
    }
  }
  return { factories, modules, isComplete };
}
