import { createHash } from 'node:crypto';
import { toJson } from '../../api/codec/json.ts';
import { type ManifestObject, type ManifestProblem, parseManifests } from '../../api/codec/yaml.ts';
import type { FieldViolation } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { validateMetadata } from '../../api/kinds/metadata.ts';
import { checkNoReferences } from '../../api/kinds/pod/static-pods.ts';
import { timestamp, toRfc3339 } from '../../api/meta/time.ts';
import { annotations, namespaces } from '../../api/meta/well-known.ts';

/**
 * What a manifest says: a static pod, complete, or everything that is wrong, a line each: "FILE:LINE: PATH: REASON".
 */
export type ReadManifest =
  | { readonly pod: Pod; readonly warnings: readonly string[] }
  | { readonly pod?: undefined; readonly problems: readonly string[] };

export interface ManifestFacts {
  /** The path of the file: a pod that another file describes is another pod. */
  readonly file: string;
  readonly nodeName: string;
  /** When the file was first seen like this. */
  readonly seenMs: number;
}

const podKind = kindNamed('Pod');
const uidDigits = 32;

/**
 * The static pod of a file: one pod in YAML or JSON. As in Kubernetes its name ends in the node's, its uid is a hash of
 * node, file and content (so other content is another pod), it belongs to this node, stays whatever its taints are, and
 * may refer to nothing that only the API server has. What a copy from the API says of its own time (uid, status,
 * owners) does not count. Pure.
 */
export function readManifest(text: string, facts: ManifestFacts): ReadManifest {
  const documents = parseManifests(text, facts.file);
  const [document] = documents;
  const { file } = facts;
  const whole = (reason: string): ReadManifest => ({ problems: [lineOf(file, { line: 1, path: '', reason })] });
  if (document === undefined) return whole('it holds no pod');
  if (documents.length > 1) return whole(`it holds ${documents.length} objects: the file of a static pod holds one pod`);
  if ('problems' in document) return { problems: document.problems.map((each) => lineOf(file, each)) };
  if (document.kind.kind !== 'Pod') {
    const { line, kind } = document;
    return { problems: [lineOf(file, { line, path: 'kind', reason: `is ${kind.kind}: the file of a static pod holds a Pod` })] };
  }
  return completed(document, facts);
}

function completed(document: ManifestObject, { file, nodeName, seenMs }: ManifestFacts): ReadManifest {
  const told = ownPart(document.object as Pod);
  const { name = '', namespace = namespaces.default, labels, annotations: own } = told.metadata ?? {};
  const uid = hashOf([nodeName, file, canonical(toJson(podKind, told))]);
  const { spec } = told;
  const pod: Pod = {
    metadata: {
      name: name === '' ? '' : `${name}-${nodeName}`,
      namespace,
      uid,
      ...(labels && { labels }),
      annotations: {
        ...own,
        [annotations.configHash]: uid,
        [annotations.configSeen]: toRfc3339(timestamp(new Date(seenMs)), 6),
        [annotations.configSource]: 'file',
      },
    },
    spec: { ...spec, nodeName, tolerations: [...(spec?.tolerations ?? []), { operator: 'Exists', effect: 'NoExecute' }] },
    status: { phase: 'Pending' },
  };
  const warnings = (podKind.warnings?.(told) ?? []).map((each) => `${file}: ${each}`);
  podKind.defaults(pod);
  const violations = violationsOf(pod);
  if (violations.length === 0) return { pod, warnings };
  const placed = violations.map(({ field, description }) => ({ ...document.locate(field), reason: description }));
  return { problems: placed.toSorted((a, b) => a.line - b.line).map((each) => lineOf(file, each)) };
}

function violationsOf(pod: Pod): FieldViolation[] {
  return [
    ...validateMetadata(podKind, pod.metadata),
    ...podKind.validate(pod),
    ...(podKind.validateCreate?.(pod) ?? []),
    ...checkNoReferences(pod),
  ];
}

/** Without what a server wrote, or the agent: a pod that was copied from the API is a manifest, too. */
function ownPart({ metadata = {}, spec }: Pod): Pod {
  const { name, namespace, labels, annotations: all } = metadata;
  const written: readonly string[] = [
    annotations.configHash,
    annotations.configSeen,
    annotations.configSource,
    annotations.configMirror,
  ];
  const own = Object.entries(all ?? {}).filter(([key]) => !written.includes(key));
  return {
    metadata: {
      ...(name && { name }),
      ...(namespace && { namespace }),
      ...(labels && { labels }),
      ...(own.length > 0 && { annotations: Object.fromEntries(own) }),
    },
    ...(spec && { spec }),
  };
}

function lineOf(file: string, { line, path, reason }: ManifestProblem): string {
  return `${file}:${line}: ${path === '' ? '' : `${path}: `}${reason}`;
}

function hashOf(parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:${part}`);
  return hash.digest('hex').slice(0, uidDigits);
}

/** The same text for the same content, whatever the order of keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part !== 'object' || part === null || Array.isArray(part)
      ? part
      : Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))),
  );
}
