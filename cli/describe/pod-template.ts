import { selectorLines, tolerationText, writePlannedContainer } from './container.ts';
import { list, type Tree, text, tree } from './json.ts';
import { type Lines, pairs } from './lines.ts';
import { writeVolumes } from './pod.ts';

/** The template of pods as kubectl's describe shows it. */
export function writePodTemplate(template: Tree, lines: Lines): void {
  lines.section('Pod Template', (inner) => {
    inner.field('Labels', pairs(tree(template, 'metadata', 'labels')));
    const annotations = pairs(tree(template, 'metadata', 'annotations'), ': ');
    if (annotations.length > 0) inner.field('Annotations', annotations);
    const account = text(template, 'spec', 'serviceAccountName');
    if (account !== '') inner.field('Service Account', account);
    writePlannedContainers('Init Containers', list(template, 'spec', 'initContainers'), inner);
    writePlannedContainers('Containers', list(template, 'spec', 'containers'), inner);
    writeVolumes(list(template, 'spec', 'volumes'), inner);
    writeSpread(list(template, 'spec', 'topologySpreadConstraints'), inner);
    const priority = text(template, 'spec', 'priorityClassName');
    if (priority !== '') inner.field('Priority Class Name', priority);
    inner.field('Node-Selectors', selectorLines(template));
    inner.field('Tolerations', list(template, 'spec', 'tolerations').map(tolerationText));
  });
}

function writePlannedContainers(heading: string, containers: readonly Tree[], lines: Lines): void {
  if (containers.length === 0) return;
  lines.section(heading, (inner) => {
    for (const container of containers) inner.section(text(container, 'name'), (body) => writePlannedContainer(container, body));
  });
}

/** "topology.kubernetes.io/zone:DoNotSchedule when max skew 1 is exceeded". */
function writeSpread(constraints: readonly Tree[], lines: Lines): void {
  if (constraints.length === 0) return;
  lines.field(
    'Topology Spread Constraints',
    constraints.map((each) => {
      const [key, when, skew] = ['topologyKey', 'whenUnsatisfiable', 'maxSkew'].map((name) => text(each, name));
      return `${key}:${when} when max skew ${skew} is exceeded`;
    }),
  );
}
