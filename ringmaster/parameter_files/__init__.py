"""Parameter files of other tuners: recognise, read and write them."""

from ringmaster.parameter_files.entries import Entry as Entry
from ringmaster.parameter_files.entries import ParameterFile as ParameterFile
from ringmaster.parameter_files.entries import PowerOfTwo as PowerOfTwo
from ringmaster.parameter_files.entries import arguments as arguments
from ringmaster.parameter_files.entries import plain as plain
from ringmaster.parameter_files.formats import FORMATS as FORMATS
from ringmaster.parameter_files.formats import read_file as read_file
from ringmaster.parameter_files.formats import recognised as recognised
from ringmaster.parameter_files.formats import write_file as write_file
from ringmaster.parameter_files.ranges import CLOP_KINDS as CLOP_KINDS
from ringmaster.parameter_files.tables import ROUNDING as ROUNDING
from ringmaster.parameter_files.tables import rounded_otherwise as rounded_otherwise
from ringmaster.parameter_files.text import Text as Text
from ringmaster.parameter_files.text import number as number
