import { createReadStream } from 'node:fs';
import { join, normalize } from 'node:path';
import { qualifiedNameError } from '../../api/meta/names.ts';
import type { DeviceMapping } from '../runtime/runtime.ts';
import type { DeviceOffer, DeviceUnit } from './device-units.ts';
import { sysctlPatternError } from './sysctl-patterns.ts';

/** What the node allows its pods and offers them. */
export interface NodeConfig {
  readonly allowedUnsafeSysctls: readonly string[];
  readonly devices: DeviceOffer;
  /** The folder, or the file, of this machine's static pods. */
  readonly staticPodPath: string | undefined;
  /** In which folder volumes of local-path classes are made, in place of one in the agent's own. */
  readonly localPathFolder: string | undefined;
}

/** The file in the data directory; without it there is nothing of the sort. */
export const nodeConfigFile = 'node.yaml';
const mostUnits = 1_000;

/**
 * Throws a plain error that names the file and what is wrong with it:
 * an agent that would misunderstand it does not start.
 */
export async function readNodeConfig(dataDir: string): Promise<NodeConfig> {
  const path = join(dataDir, nodeConfigFile);
  try {
    const { maxSettingsBytes, settingsText } = await import('../../api/codec/settings-text.ts');
    const { readSettings } = await import('../../api/codec/yaml-settings.ts');
    return parseNodeConfig(readSettings(await settingsText(createReadStream(path, { end: maxSettingsBytes }))) ?? {});
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return parseNodeConfig({});
    throw new Error(`read ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Reads what the file says. Pure; throws an Error that says where it is wrong. */
export function parseNodeConfig(value: unknown): NodeConfig {
  const members = ['allowedUnsafeSysctls', 'devices', 'staticPodPath', 'localPathFolder'] as const;
  const { allowedUnsafeSysctls, devices, staticPodPath, localPathFolder } = membersOf('', value, members);
  if (staticPodPath !== undefined && (typeof staticPodPath !== 'string' || !staticPodPath.startsWith('/')))
    throw new Error('staticPodPath: must be an absolute path such as /etc/berth/static-pods');
  if (localPathFolder !== undefined && !isOwnFolder(localPathFolder))
    throw new Error('localPathFolder: must be the absolute path of a folder, without "..", such as /mnt/volumes');
  const patterns = textsOf('allowedUnsafeSysctls', allowedUnsafeSysctls ?? []);
  for (const pattern of patterns) {
    const wrong = sysctlPatternError(pattern);
    if (wrong !== undefined) throw new Error(`allowedUnsafeSysctls: "${pattern}" ${wrong}`);
  }
  const units = new Map<string, DeviceUnit[]>();
  listOf('devices', devices ?? []).forEach((entry, i) => {
    addUnits(units, `devices[${i}]`, entry);
  });
  return { allowedUnsafeSysctls: patterns, devices: units, staticPodPath, localPathFolder };
}

/** A path that says itself where it leads: it is compared with others. */
function isOwnFolder(value: unknown): value is string {
  return (
    typeof value === 'string' && value.startsWith('/') && value !== '/' && normalize(value) === value && !value.endsWith('/')
  );
}

function addUnits(units: Map<string, DeviceUnit[]>, at: string, entry: unknown): void {
  const { resource, paths, permissions = 'rwm', count = 1 } = membersOf(at, entry, ['resource', 'paths', 'permissions', 'count']);
  if (typeof resource !== 'string' || !/^[^/]+\/[^/]+$/.test(resource) || qualifiedNameError(resource) !== undefined)
    throw new Error(`${at}.resource: must be a name with a domain such as example.com/camera`);
  if (typeof permissions !== 'string' || !/^(?!.*(.).*\1)[rwm]{1,3}$/.test(permissions))
    throw new Error(`${at}.permissions: must be of the letters r, w and m`);
  if (!Number.isInteger(count) || (count as number) < 1 || (count as number) > mostUnits)
    throw new Error(`${at}.count: must be a number from 1 to ${mostUnits}`);
  const texts = textsOf(`${at}.paths`, paths);
  const devices = texts.map((path) => deviceOf(`${at}.paths`, path, permissions));
  if (devices.length === 0) throw new Error(`${at}.paths: names no device`);
  const known = units.get(resource) ?? [];
  units.set(resource, known);
  for (let number = 0; number < (count as number); number++) {
    const id = `${texts.join(',')}#${number}`;
    if (known.some((unit) => unit.id === id)) throw new Error(`${at}.paths: offers ${texts.join(', ')} twice as ${resource}`);
    known.push({ id, devices });
  }
}

/** "/dev/video0", or "/dev/video3:/dev/video0" to show it under another path. */
function deviceOf(at: string, text: string, permissions: string): DeviceMapping {
  const [hostPath = '', containerPath = hostPath, ...rest] = text.split(':');
  const isPath = (path: string) => path.startsWith('/') && !path.split('/').includes('..');
  if (rest.length > 0 || !isPath(hostPath) || !isPath(containerPath)) {
    throw new Error(`${at}: "${text}" is not the path of a device, or two with ":" between them`);
  }
  return { hostPath, containerPath, permissions };
}

function membersOf<Name extends string>(at: string, value: unknown, names: readonly Name[]): Partial<Record<Name, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`${at || 'the file'}: must have members`);
  const strange = Object.keys(value).find((name) => !names.includes(name as Name));
  if (strange !== undefined)
    throw new Error(`${at === '' ? '' : `${at}.`}${strange}: is not known; there are ${names.join(', ')}`);
  return value as Partial<Record<Name, unknown>>;
}

function listOf(at: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`${at}: must be a list`);
  return value;
}

function textsOf(at: string, value: unknown): readonly string[] {
  return listOf(at, value).map((each) => {
    if (typeof each !== 'string') throw new Error(`${at}: must be a list of texts`);
    return each;
  });
}
