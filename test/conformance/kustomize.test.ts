import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { isJsonObject, type Json, type JsonObject } from '../../api/meta/merge-patch.ts';
import { buildKustomization } from '../../cli/kustomize/build.ts';

// Kustomizations beside what kubectl 1.33 builds of them (kustomize 5.6). With BERTH_KUBECTLS=PATH:PATH these programs
// build them, too: one that differs from the record says that the record is wrong, or that kustomize has changed.
const root = join(dirname(fileURLToPath(import.meta.url)), '..', 'fixtures', 'kustomizations');
const recorded = 'kubectl-1.33.yaml';
const kubectls = (process.env.BERTH_KUBECTLS ?? '').split(':').filter(Boolean);

function objectsOf(text: string): JsonObject[] {
  return parseAllDocuments(text).map((document) => joined(document.toJS() as JsonObject));
}

/** kustomize breaks base64 into lines of 70 characters. */
function joined(object: JsonObject): JsonObject {
  const bytes = object.kind === 'Secret' ? 'data' : 'binaryData';
  if (!isJsonObject(object[bytes])) return object;
  const data = Object.entries(object[bytes]).map(([key, value]): [string, Json] => [key, String(value).replaceAll('\n', '')]);
  return { ...object, [bytes]: Object.fromEntries(data) };
}

describe.each(readdirSync(root))('the kustomization "%s"', (name) => {
  const folder = join(root, name);
  const record = objectsOf(readFileSync(join(folder, recorded), 'utf8'));

  it('is built as kubectl builds it, in its order', () => {
    expect(record.length).toBeGreaterThan(0);
    expect(buildKustomization(folder)).toEqual(record);
  });

  for (const kubectl of kubectls)
    it(`is built so by ${kubectl}`, () => {
      const said = execFileSync(kubectl, ['kustomize', folder], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
      expect(objectsOf(said)).toEqual(record);
    });
});
