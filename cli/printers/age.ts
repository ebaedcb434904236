// One way to write a span for the tables of the server and for what is made here.
export { formatAge } from '../../api/kinds/cells.ts';
