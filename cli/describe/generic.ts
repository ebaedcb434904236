import { stringify } from 'yaml';
import { type Tree, tree } from './json.ts';
import type { Lines } from './lines.ts';

/** Everything below the metadata, as YAML; values of Secrets are shown by their size only. */
export function describeGeneric(object: Tree, lines: Lines): void {
  for (const [name, value] of Object.entries(object)) {
    if (name === 'metadata' || name === 'apiVersion' || name === 'kind') continue;
    const shown = object.kind === 'Secret' && (name === 'data' || name === 'stringData') ? sizes(tree(value)) : value;
    lines.field(name.charAt(0).toUpperCase() + name.slice(1), stringify(shown, { lineWidth: 0 }).trimEnd());
  }
}

function sizes(data: Tree): Tree {
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, `${Buffer.from(String(value), 'base64').length} bytes`]),
  );
}
