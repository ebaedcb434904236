import { yamlText } from '../printers/objects.ts';
import { buildKustomization } from './build.ts';

/** What a kustomization builds, as the documents of one YAML file. Throws INVALID_ARGUMENT. */
export function kustomizationText(folder: string): string {
  return buildKustomization(folder).map(yamlText).join('---\n');
}
