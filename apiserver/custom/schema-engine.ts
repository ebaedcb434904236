type SchemaEngine = typeof import('../schema/compile-schema.ts');

let engine: SchemaEngine | undefined;

/** Loads what compiles schemas and rules: a server without kinds of users' own does without, 70 ms and 8 MB less. */
export async function loadSchemaEngine(): Promise<SchemaEngine> {
  engine ??= await import('../schema/compile-schema.ts');
  return engine;
}

/** The loaded engine, synchronously. Throws when it is not loaded yet. */
export function loadedSchemaEngine(): SchemaEngine {
  if (engine === undefined) throw new Error('the schema engine is loaded before a kind is served');
  return engine;
}
