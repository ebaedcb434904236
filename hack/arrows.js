// The arrow lint: who may import whom. Used by hack/verify-arrows and its test.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cruise } from 'dependency-cruiser';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import configuration from '../.dependency-cruiser.js';

const folders = ['api', 'client', 'apiserver', 'scheduler', 'agent', 'controllers', 'cli', 'host', 'examples', 'bench', 'test'];

/**
 * Cruises the rooms below `root`. Returns how many TypeScript modules were read (a cruise that reads nothing must not
 * pass) and one line for each forbidden import.
 */
export async function checkArrows(root) {
  const tsConfig = extractTSConfig(join(root, 'tsconfig.json'));
  const present = folders.filter((folder) => existsSync(join(root, folder)));
  const { output } = await cruise(
    present,
    { ...configuration.options, baseDir: root, ruleSet: { forbidden: configuration.forbidden }, validate: true },
    undefined,
    { tsConfig },
  );
  return {
    modules: output.modules.filter((module) => module.source.endsWith('.ts') && !module.source.includes('node_modules')).length,
    violations: output.summary.violations.map((violation) => {
      const cycle = violation.cycle ? ` (${violation.cycle.map((step) => step.name).join(' -> ')})` : '';
      return `${violation.from} -> ${violation.to}: ${violation.rule.name}${cycle}`;
    }),
  };
}
