import type { ManifestDocument } from '../../api/codec/yaml.ts';
import { badRequest } from '../../api/errors/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { JsonObject, ObjectKey } from '../../client/index.ts';
import { parseResourceArguments } from '../args/resource-args.ts';
import { manifestKey, manifestNamespace } from '../manifests/each-manifest.ts';
import { describeManifestFailure } from '../manifests/manifest-report.ts';
import type { Session } from '../session.ts';
import { listAllJson } from './listing.ts';

/** One object that a command is about. */
export interface Target {
  readonly kind: Kind;
  readonly key: ObjectKey;
}

/** The flags that choose objects, beside names. */
export interface TargetFlags {
  readonly filename?: readonly string[];
  readonly recursive?: boolean;
  readonly selector?: string;
  readonly fieldSelector?: string;
  readonly all?: boolean;
  readonly allNamespaces?: boolean;
}

export interface Targets {
  readonly targets: readonly Target[];
  /** How many documents of `-f` name no object; each was told on standard error. */
  readonly failed: number;
  /** Chosen by a selector or --all, not by name: there may be none. */
  readonly selected: boolean;
}

/** Whether flags choose among all objects of a type. */
function isSelection(flags: TargetFlags): boolean {
  return Boolean(flags.all || flags.selector || flags.fieldSelector || flags.allNamespaces);
}

/** The objects that names, `-f` or selectors mean. `verb` is for messages: "name the pods to VERB". */
export async function findTargets(
  session: Session,
  words: readonly string[],
  flags: TargetFlags,
  verb: string,
): Promise<Targets> {
  if (flags.filename) {
    if (words.length > 0) throw badRequest('types and names cannot be given together with -f');
    // Reading YAML takes a library that most commands do without.
    const { readManifests } = await import('../manifests/manifests.ts');
    return manifestTargets(session, await readManifests({ filename: flags.filename, recursive: flags.recursive }));
  }
  const selected = isSelection(flags);
  const targets: Target[] = [];
  for (const { kind, names } of parseResourceArguments(words)) {
    const namespace = kind.namespaced ? session.namespace : undefined;
    if (names.length > 0) {
      if (selected) throw badRequest('names cannot be given together with -l, --field-selector, --all or -A');
      targets.push(...names.map((name) => ({ kind, key: { namespace, name } })));
    } else if (flags.all || flags.selector || flags.fieldSelector) {
      const scope = {
        namespace: flags.allNamespaces ? undefined : namespace,
        labelSelector: flags.selector,
        fieldSelector: flags.fieldSelector,
      };
      for (const object of await listAllJson(session.client.objects, kind, scope)) targets.push({ kind, key: keyOf(object) });
    } else throw badRequest(`name the ${kind.plural} to ${verb}, or choose them with -l or --all`);
  }
  return { targets, failed: 0, selected };
}

/**
 * Documents name objects as soon as their kind and name can be read: what else is wrong with them does not matter here.
 */
function manifestTargets(session: Session, documents: readonly ManifestDocument[]): Targets {
  const targets: Target[] = [];
  let failed = 0;
  for (const document of documents) {
    try {
      if (!('problems' in document)) targets.push({ kind: document.kind, key: manifestKey(session, document) });
      else if (document.identity) {
        const { kind, name, namespace } = document.identity;
        const object = { metadata: { name, ...(namespace && { namespace }) } };
        targets.push({ kind, key: { name, namespace: manifestNamespace(session, { kind, object }) } });
      } else {
        failed++;
        process.stderr.write(`error: ${describeManifestFailure(document)}\n`);
      }
    } catch (error) {
      failed++;
      process.stderr.write(`error: ${describeManifestFailure(document, error)}\n`);
    }
  }
  return { targets, failed, selected: false };
}

export function keyOf(object: JsonObject): ObjectKey {
  const { name = '', namespace } = (object.metadata ?? {}) as { name?: string; namespace?: string };
  return { name, namespace };
}

/** "pods/web", as kubectl names an object in messages. */
export function targetText({ kind, key }: Target): string {
  return `${kind.plural}/${key.name}`;
}
