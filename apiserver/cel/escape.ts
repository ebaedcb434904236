/** Words that CEL keeps for itself, as Kubernetes lists them. */
const RESERVED = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

const ESCAPES: readonly (readonly [string, string])[] = [
  ['__', '__underscores__'],
  ['.', '__dot__'],
  ['-', '__dash__'],
  ['/', '__slash__'],
];

/**
 * The name by which an expression reaches a property: "foo-bar" is "foo__dash__bar", "namespace" is "__namespace__".
 * Undefined for a name that no expression can reach.
 */
export function escapeName(name: string): string | undefined {
  if (RESERVED.has(name)) return `__${name}__`;
  const escaped = name.replaceAll(/__|[./-]/g, (part) => ESCAPES.find(([plain]) => plain === part)![1]);
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(escaped) ? escaped : undefined;
}

/** What `escapeName` made of a name. */
export function unescapeName(escaped: string): string {
  const word = /^__([a-z]+)__$/.exec(escaped)?.[1];
  if (word !== undefined && RESERVED.has(word)) return word;
  return escaped.replaceAll(/__(underscores|dot|dash|slash)__/g, (part) => ESCAPES.find(([, each]) => each === part)![0]);
}
