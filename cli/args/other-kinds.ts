import type { Command } from 'commander';
import type { CustomResourceDefinition, KindInfo } from '../../api/generated/types.ts';
import { customKind, kindOfInfo } from '../../api/kinds/custom/custom-kind.ts';
import { compareVersions } from '../../api/kinds/custom-resource-definition/meaning.ts';
import { groupOf } from '../../api/kinds/identity.ts';
import { kinds } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { olderVersions } from '../../api/kinds/versions.ts';

// The kinds that the server has besides Berth's own. A command line asks for them only when it names one: of its own
// every program knows the kinds that it was built with.

let others: readonly Kind[] = [];
let all: readonly Kind[] = [...kinds, ...olderVersions];
let ask: (() => Promise<readonly Kind[]>) | undefined;

/** All kinds that are known by now, each version by itself; of one kind the preferred version first. */
export function knownKinds(): readonly Kind[] {
  return all;
}

/** Those of users alone, each version by itself, the preferred ones first. */
export function otherKinds(): readonly Kind[] {
  return others;
}

/** From now on `learnKinds` asks the server that the command talks to. */
export function learnFrom(command: Command): void {
  setOthers([]);
  ask = async () => {
    // A completion uses the other functions, and need not load what connects.
    const { withSession } = await import('../session.ts');
    let found: readonly Kind[] = [];
    await withSession(command, async ({ client }) => {
      found = kindsOfUsers(await client.objects.kinds());
    });
    return found;
  };
}

/** The kinds of users among those that a server told, each version by itself. Pure. */
export function kindsOfUsers(infos: readonly KindInfo[]): Kind[] {
  const theirs = infos.filter(({ service }) => !service);
  return theirs.flatMap((info) => {
    const { apiVersion = '', versions = [] } = info;
    return (versions.length > 0 ? versions : [apiVersion]).map((each) => kindOfInfo({ ...info, apiVersion: each }));
  });
}

/**
 * Asks the server for its kinds, once. A server that cannot be asked has none: the command itself tells why, when it
 * comes to talk to it.
 */
export async function learnKinds(): Promise<void> {
  const asked = ask;
  ask = undefined;
  try {
    addKinds((await asked?.()) ?? []);
  } catch {
    return;
  }
}

/** Adds the kinds of definitions that a command is about to create. */
export function addDefined(definition: CustomResourceDefinition): void {
  const versions = (definition.spec?.versions ?? []).toSorted((a, b) => compareVersions(a.name ?? '', b.name ?? ''));
  addKinds(versions.map((version) => customKind(definition, version)));
}

function addKinds(more: readonly Kind[]): void {
  const isKnown = (kind: Kind): boolean => others.some((each) => each.apiVersion === kind.apiVersion && each.kind === kind.kind);
  const added = more.filter((kind) => !isKnown(kind));
  if (added.length > 0) setOthers([...others, ...added]);
}

function setOthers(next: readonly Kind[]): void {
  others = next;
  all = [...kinds, ...olderVersions, ...next];
}

/** Whether a text names a group that no known kind is of. */
export function namesUnknownGroup(text: string): boolean {
  const groups = new Set(knownKinds().map(({ apiVersion }) => groupOf(apiVersion)));
  return [...text.matchAll(/apiVersion"?:\s*["']?([\w.-]+\/[\w.-]+)/g)].some(([, found = '']) => !groups.has(groupOf(found)));
}

/** The kind of a user that a noun names: plural, singular, short name or kind, with the group or version behind it. */
export function otherKindOf(noun: string, among: readonly Kind[] = others): Kind | undefined {
  const [name = '', ...rest] = noun.toLowerCase().split('.');
  const wanted = rest.join('.');
  return among.find(({ apiVersion, kind, plural, singular, shortNames }) => {
    if (![kind.toLowerCase(), plural, singular, ...shortNames].includes(name)) return false;
    return wanted === '' || isOfGroup(apiVersion, wanted);
  });
}

/** Whether what stands behind a noun, as "GROUP", "VERSION" or "VERSION.GROUP", means an apiVersion. */
export function isOfGroup(apiVersion: string, wanted: string): boolean {
  const [group, version] = [groupOf(apiVersion), apiVersion.split('/').at(-1) ?? ''];
  return [group, version, `${version}.${group}`].includes(wanted);
}
