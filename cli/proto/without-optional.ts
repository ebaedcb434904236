/** `optional TYPE NAME = NUMBER [OPTIONS];` at the start of a statement, as the files here are written. */
const optionalField = /^([ \t]*)optional ([^;]+?\b(\w+) = [^;]+;)/gm;
/** An extension block: there a plain field means the same to every compiler. */
const extension = /^extend [\w.]+ \{[^}]*\}/gm;

/**
 * A .proto file for compilers that do not know `optional` in proto3 (protoc before 3.15, so also Debian 12's
 * python3-grpc-tools): each such field becomes a oneof of that one field, which is what newer compilers make of it too.
 * Wire form and presence stay. Pure.
 */
export function withoutOptional(source: string): string {
  const plainExtensions = source.replaceAll(extension, (block) => block.replaceAll(/^(\s*)optional /gm, '$1'));
  return plainExtensions.replaceAll(
    optionalField,
    (_, indent: string, field: string, name: string) => `${indent}oneof _${name} { ${field} }`,
  );
}
