import { basename } from 'node:path';
import { isJsonObject, type JsonObject } from '../../api/meta/merge-patch.ts';
import { dataKeyError } from '../../api/meta/names.ts';
import { parseEnvFile } from '../generators/data.ts';
import { checkMembers, type Kustomization, readBytes, readText, textIn } from './kustomization.ts';
import { describe, idOf, kindOfResource, metadataOf, namesOf, type Resource, readResource } from './resource.ts';

const members = ['name', 'namespace', 'behavior', 'files', 'envs', 'env', 'literals', 'options', 'type'];
const optionNames = ['labels', 'annotations', 'disableNameSuffixHash', 'immutable'];

/** Makes the ConfigMaps and Secrets of a kustomization, or changes those of its bases. */
export function generate(kustomization: Kustomization, resources: Resource[]): void {
  for (const kind of ['ConfigMap', 'Secret'] as const) {
    const field = kind === 'Secret' ? 'secretGenerator' : 'configMapGenerator';
    for (const { item, path } of kustomization.objects(field)) {
      const refuse = (why: string): Error => kustomization.refuse(`${path}: ${why}`);
      checkMembers(item, kind === 'Secret' ? members : members.filter((name) => name !== 'type'), refuse);
      const made = makeObject(kustomization, kind, item, refuse);
      add(resources, made, textIn(item, 'behavior', refuse) ?? 'create', refuse);
    }
  }
}

type Refuse = (why: string) => Error;

function makeObject(kustomization: Kustomization, kind: 'ConfigMap' | 'Secret', item: JsonObject, refuse: Refuse): Resource {
  const name = textIn(item, 'name', refuse);
  if (!name) throw refuse('name is required');
  const namespace = textIn(item, 'namespace', refuse);
  const options = { shared: kustomization.object('generatorOptions'), own: item.options ?? {} };
  if (!isJsonObject(options.own)) throw refuse('options: expected an object');
  for (const each of [options.shared, options.own]) checkMembers(each, optionNames, (why) => refuse(`options: ${why}`));
  const [labels, annotations] = (['labels', 'annotations'] as const).map((of) => ({
    ...kustomization.pairs(of, options.shared, `generatorOptions.${of}`),
    ...kustomization.pairs(of, options.own as JsonObject, `options.${of}`),
  }));
  const isOn = (option: string): boolean => options.shared[option] === true || (options.own as JsonObject)[option] === true;
  const json: JsonObject = {
    apiVersion: 'v1',
    kind,
    metadata: {
      name,
      ...(namespace && { namespace }),
      ...(Object.keys(labels!).length > 0 && { labels: labels! }),
      ...(Object.keys(annotations!).length > 0 && { annotations: annotations! }),
    },
    ...dataOf(kind, readEntries(kustomization, item, refuse)),
    ...(kind === 'Secret' && { type: textIn(item, 'type', refuse) ?? 'Opaque' }),
    ...(isOn('immutable') && { immutable: true }),
  };
  return { ...readResource(json, kustomization.file), hashed: !isOn('disableNameSuffixHash') };
}

function dataOf(kind: 'ConfigMap' | 'Secret', entries: ReadonlyMap<string, Buffer>): JsonObject {
  const [data, binaryData]: [JsonObject, JsonObject] = [{}, {}];
  for (const [key, bytes] of entries) {
    if (kind === 'Secret') data[key] = bytes.toString('base64');
    else if (isText(bytes)) data[key] = bytes.toString('utf8');
    else binaryData[key] = bytes.toString('base64');
  }
  return { ...(Object.keys(data).length > 0 && { data }), ...(Object.keys(binaryData).length > 0 && { binaryData }) };
}

function isText(bytes: Buffer): boolean {
  return Buffer.from(bytes.toString('utf8')).equals(bytes);
}

function readEntries(kustomization: Kustomization, item: JsonObject, refuse: Refuse): Map<string, Buffer> {
  const entries = new Map<string, Buffer>();
  const put = (key: string, value: Buffer): void => {
    const rule = dataKeyError(key);
    if (rule !== undefined) throw refuse(`the key "${key}" ${rule}`);
    if (entries.has(key)) throw refuse(`the key "${key}" is given twice`);
    entries.set(key, value);
  };
  const env = textIn(item, 'env', refuse);
  for (const path of [...textsIn(item, 'envs', refuse), ...(env === undefined ? [] : [env])]) {
    const file = kustomization.fileAt(path);
    for (const [key, value] of parseEnvFile(readText(file), path)) put(key, Buffer.from(value));
  }
  for (const source of textsIn(item, 'files', refuse)) {
    const at = source.indexOf('=');
    const path = source.slice(at + 1);
    put(at < 0 ? basename(path) : source.slice(0, at), readBytes(kustomization.fileAt(path)));
  }
  for (const literal of textsIn(item, 'literals', refuse)) {
    const at = literal.indexOf('=');
    if (at <= 0) throw refuse(`literals: expected KEY=VALUE, found "${literal}"`);
    put(literal.slice(0, at), Buffer.from(literal.slice(at + 1).replace(/^(["'])(.*)\1$/s, '$2')));
  }
  return entries;
}

function textsIn(item: JsonObject, name: string, refuse: Refuse): string[] {
  const value = item[name] ?? [];
  if (!Array.isArray(value) || value.some((each) => typeof each !== 'string')) throw refuse(`${name}: expected a list of texts`);
  return value as string[];
}

function add(resources: Resource[], made: Resource, behavior: string, refuse: Refuse): void {
  if (!['create', 'merge', 'replace'].includes(behavior))
    throw refuse(`behavior: it takes create, merge or replace, not "${behavior}"`);
  const [{ name, namespace }] = namesOf(made) as [{ name: string; namespace: string }];
  const found = resources.filter(
    (each) =>
      kindOfResource(each) === kindOfResource(made) &&
      namesOf(each).some((known) => known.name === name && (namespace === '' || known.namespace === namespace)),
  );
  const [present, second] = found;
  if (behavior === 'create') {
    if (resources.some((each) => idOf(each) === idOf(made)))
      throw refuse(`${describe(made)} is there already: use behavior: merge or replace to change it`);
    resources.push(made);
    return;
  }
  if (!present) throw refuse(`there is no ${describe(made)} to ${behavior}: use behavior: create`);
  if (second) throw refuse(`several are called so: ${describe(present)}, ${describe(second)}`);
  change(present, made, behavior === 'merge');
}

/** Data, labels and annotations of what was there stay or go; its name stays. */
function change(present: Resource, made: Resource, merges: boolean): void {
  const { json } = made;
  const [before, after] = [metadataOf(present.json), metadataOf(json)];
  for (const field of ['labels', 'annotations'] as const) {
    const all = { ...(before[field] as JsonObject | undefined), ...(after[field] as JsonObject | undefined) };
    if (Object.keys(all).length > 0) before[field] = all;
  }
  for (const field of ['data', 'binaryData'] as const) {
    const all = { ...(merges && (present.json[field] as JsonObject | undefined)), ...(json[field] as JsonObject | undefined) };
    delete present.json[field];
    if (Object.keys(all).length > 0) present.json[field] = all;
  }
  if (json.immutable !== undefined) present.json.immutable = json.immutable;
  if (json.type !== undefined && json.type !== 'Opaque') present.json.type = json.type;
  present.hashed ||= made.hashed;
}
