import type { ManifestDocument, ManifestObject } from '../api/codec/yaml.ts';
import { invalid } from '../api/errors/index.ts';
import { invalidValue, required } from '../api/errors/violations.ts';
import type { ObjectKey } from '../client/index.ts';
import { ExitWith } from './failure.ts';
import { describeManifestFailure, describeManifestWarning } from './manifest-report.ts';
import type { Session } from './session.ts';

/**
 * Does `run` for every document that can be read, one after the other in the order of the files. A document that cannot be read, or
 * that the server refuses, is told on standard error and hides no other; the command then ends with 1.
 */
export async function eachManifest(
  session: Session,
  documents: readonly ManifestDocument[],
  run: (document: ManifestObject) => Promise<void>,
): Promise<void> {
  let failed = 0;
  for (const document of documents) {
    try {
      if ('problems' in document) failed += report(document);
      else
        await session.rewording(
          (text) => describeManifestWarning(document, text),
          () => run(document),
        );
    } catch (error) {
      if (error instanceof ExitWith) throw error;
      failed += report(document, error);
    }
  }
  if (failed > 0) throw new ExitWith(1);
}

function report(document: ManifestDocument, error?: unknown): 1 {
  process.stderr.write(`error: ${describeManifestFailure(document, error)}\n`);
  return 1;
}

/** The name and namespace that a document means; the namespace is --namespace where it names none. */
export function manifestKey(session: Session, { kind, object }: ManifestObject): ObjectKey {
  const name = object.metadata?.name;
  if (!name) throw invalid({ kind: kind.kind }, [required('metadata.name')]);
  return { name, namespace: manifestNamespace(session, { kind, object }) };
}

/** Where a document's object goes. A manifest that names another namespace than the command line is a mistake. */
export function manifestNamespace(
  session: Session,
  { kind, object }: Pick<ManifestObject, 'kind' | 'object'>,
): string | undefined {
  if (!kind.namespaced) return undefined;
  const own = object.metadata?.namespace;
  if (own && session.namespaceGiven && own !== session.namespace) {
    const why = `the command line says --namespace=${session.namespace}`;
    throw invalid({ kind: kind.kind }, [invalidValue('metadata.namespace', own, why)]);
  }
  return own || session.namespace;
}
